import { systemClock, type Clock } from "../../runtime/clock.ts";
import type { TokenVerifier } from "./access-token.ts";
import { assertIssuer, audiencesOf } from "./claims.ts";
import { assertNumbers } from "./durations.ts";
import { Endpoint } from "./endpoint.ts";
import { credentialsHeader, type IntrospectionCredentials } from "./introspection-credentials.ts";
import { Introspection } from "./introspection.ts";

interface Options {
  /** Where the authorization server tells of tokens, the `introspection_endpoint` of its metadata. */
  readonly url: URL;
  /** The name of the authorization server; an answer that names another is refused. */
  readonly issuer: string;
  /**
   * What has to stand in the answer's `aud`: the name of this server there, or several of which one has to. `false`
   * leaves the check out, for servers that call a token active only to those it is meant for.
   */
  readonly audience: string | readonly string[] | false;
  /**
   * How long a good token counts without being asked for again, in milliseconds, never beyond its own end; so long a
   * revoked one may still be let in. Default: one minute; 0 asks each time.
   */
  readonly maxAgeMs?: number;
  /** How long a bad token is refused without being asked for again, in milliseconds; default 10 seconds. */
  readonly refusedMaxAgeMs?: number;
  /** How many tokens are remembered, good ones and bad ones each; default 10,000. */
  readonly maxEntries?: number;
  /** How many tokens may be asked for at a time; beyond it requests get 503. Default 100. */
  readonly maxConcurrent?: number;
  /** How far the clocks of the two servers may be apart, in milliseconds; default 5,000. */
  readonly clockToleranceMs?: number;
  /** How long to wait for an answer, in milliseconds; default 5,000. */
  readonly timeoutMs?: number;
  /** Lets `url` be an `http:` URL beyond this machine, where whoever is on the way reads tokens and secret. */
  readonly allowInsecureUrl?: boolean;
}

export type IntrospectionVerifierOptions = Options & IntrospectionCredentials;

/**
 * Verifies access tokens of any form by asking the authorization server (RFC 7662). What it answers is remembered by a
 * hash of the token, for a bounded time and number; requests that bring the same token at the same time share one
 * question. While it does not answer, it rejects with `temporarily_unavailable`, and requests get 503. Throws
 * `configuration` for options that make no sense.
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

/** The same by another clock. */
export function introspectionVerifierBy(clock: Clock, options: IntrospectionVerifierOptions): TokenVerifier {
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
