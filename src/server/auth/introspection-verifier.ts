import { systemClock, type Clock } from "../../runtime/clock.ts";
import { assertOptionNames, type OptionNames } from "../../task/option-names.ts";
import type { TokenVerifier } from "./access-token.ts";
import { assertIssuer, audiencesOf } from "./claims.ts";
import { assertNumbers } from "./durations.ts";
import { Endpoint } from "./endpoint.ts";
import { credentialsHeader, type IntrospectionCredentials } from "./introspection-credentials.ts";
import { Introspection } from "./introspection.ts";

interface Options {
  /** The introspection endpoint of the authorization server (`introspection_endpoint` of its metadata). */
  readonly url: URL;
  /** The issuer. An answer that names another one is refused. */
  readonly issuer: string;
  /**
   * The expected `aud` of the answer: this server's name at the issuer. If you list several, one has to match. `false` skips the check, for
   * authorization servers that report a token as active only to its audience.
   */
  readonly audience: string | readonly string[] | false;
  /**
   * How long a valid token is cached, in milliseconds, but never after it expires. A revoked token may be accepted for this long. Default:
   * one minute; 0 asks each time.
   */
  readonly maxAgeMs?: number;
  /** How long an invalid token is cached, in milliseconds. Default 10 seconds. */
  readonly refusedMaxAgeMs?: number;
  /** Maximum number of cached tokens, for valid and invalid ones each. Default 10,000. */
  readonly maxEntries?: number;
  /**
   * Maximum number of lookups at the same time, plus as many for tokens that were valid before, so that made-up tokens do not lock out
   * known callers. Above it, requests get 503. Default 100.
   */
  readonly maxConcurrent?: number;
  /** The accepted difference between the clocks of the two servers, in milliseconds. Default 5,000. */
  readonly clockToleranceMs?: number;
  /** How long to wait for an answer, in milliseconds; default 5,000. */
  readonly timeoutMs?: number;
  /** Allows an `http:` URL of another machine. Anyone who controls the network can then read tokens and the secret. Default false. */
  readonly allowInsecureUrl?: boolean;
}

export type IntrospectionVerifierOptions = Options & IntrospectionCredentials;

const verifierOptions: OptionNames<IntrospectionVerifierOptions> = {
  url: true,
  issuer: true,
  audience: true,
  maxAgeMs: true,
  refusedMaxAgeMs: true,
  maxEntries: true,
  maxConcurrent: true,
  clockToleranceMs: true,
  timeoutMs: true,
  allowInsecureUrl: true,
  clientId: true,
  clientSecret: true,
  authorization: true,
};

/**
 * Verifies access tokens of any format by asking the authorization server (RFC 7662). Answers are cached by a hash of the
 * token, for a limited time and number; requests with the same token at the same time share one lookup. While the
 * authorization server does not answer, it rejects with `temporarily_unavailable` and requests get 503. Throws
 * `configuration` for invalid options.
 *
 * ```ts
 * import { introspectionVerifier } from "holdfast/auth";
 *
 * const verifier = introspectionVerifier({
 *   url: new URL("https://login.example.com/introspect"),
 *   clientId: "reports",
 *   clientSecret: (await readFile("/run/secrets/introspection", "utf8")).trim(),
 *   issuer: "https://login.example.com",
 *   audience: "https://reports.example.com/mcp",
 * });
 * ```
 */
export function introspectionVerifier(options: IntrospectionVerifierOptions): TokenVerifier {
  return introspectionVerifierBy(systemClock, options);
}

/** `introspectionVerifier` with a given clock. */
export function introspectionVerifierBy(clock: Clock, options: IntrospectionVerifierOptions): TokenVerifier {
  assertOptionNames("introspectionVerifier", options, verifierOptions);
  const { url, issuer, audience, clockToleranceMs = 5_000, timeoutMs = 5_000 } = options;
  const { maxAgeMs = 60_000, refusedMaxAgeMs = 10_000, maxEntries = 10_000, maxConcurrent = 100 } = options;
  const { allowInsecureUrl = false } = options;
  assertIssuer(issuer);
  assertNumbers({ clockToleranceMs, maxAgeMs, refusedMaxAgeMs });
  assertNumbers({ timeoutMs, maxEntries, maxConcurrent }, 1);
  return new Introspection({
    endpoint: new Endpoint({ what: "Token introspection", url, timeoutMs, allowInsecureUrl, clock }),
    clock,
    authorization: credentialsHeader(options),
    issuer,
    audiences: audience === false ? undefined : audiencesOf(audience),
    maxAgeMs,
    refusedMaxAgeMs,
    maxEntries,
    maxConcurrent,
    clockToleranceMs,
  });
}
