import { createLocalJWKSet, type CryptoKey, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import { systemClock, type Clock } from "../../runtime/clock.ts";
import { HoldfastError } from "../../task/fault.ts";
import { assertOptionNames, type OptionNames } from "../../task/option-names.ts";
import type { TokenVerifier } from "./access-token.ts";
import { algorithms as asymmetric, assertAlgorithms, type Algorithm } from "./algorithms.ts";
import { assertIssuer, audiencesOf } from "./claims.ts";
import { assertNumbers } from "./durations.ts";
import { Endpoint } from "./endpoint.ts";
import { JwtCheck } from "./jwt-check.ts";
import { RemoteKeys } from "./remote-keys.ts";

export interface JwtVerifierOptions {
  /** The issuer, exactly as in the `iss` claim of its tokens. */
  readonly issuer: string;
  /** The expected `aud` claim: this server's name at the issuer. If you list several, one has to match. */
  readonly audience: string | readonly string[];
  /** The URL of the issuer's keys (`jwks_uri` of its metadata), or the keys themselves. */
  readonly jwks: URL | JSONWebKeySet;
  /** The accepted signature algorithms. Default: all asymmetric ones (RSA, elliptic curves, Ed25519). */
  readonly algorithms?: readonly Algorithm[];
  /** The accepted difference between the clocks of issuer and server, in milliseconds. Default 5,000. */
  readonly clockToleranceMs?: number;
  /** Required claims besides `iss`, `aud` and `exp`. */
  readonly requiredClaims?: readonly string[];
  /** The required `typ` header: `at+jwt` (RFC 9068) refuses the issuer's other tokens. Default: any. */
  readonly type?: string;
  /** How long keys are used before they are fetched again; default 10 minutes. */
  readonly jwksMaxAgeMs?: number;
  /** The shortest time between two fetches because of a token with an unknown key; default 30 seconds. */
  readonly jwksCooldownMs?: number;
  /** How long to wait for the keys; default 5 seconds. */
  readonly timeoutMs?: number;
  /** Allows an `http:` URL of another machine as `jwks`. Anyone who controls the network can then replace the keys. Default false. */
  readonly allowInsecureUrl?: boolean;
}

const verifierOptions: OptionNames<JwtVerifierOptions> = {
  issuer: true,
  audience: true,
  jwks: true,
  algorithms: true,
  clockToleranceMs: true,
  requiredClaims: true,
  type: true,
  jwksMaxAgeMs: true,
  jwksCooldownMs: true,
  timeoutMs: true,
  allowInsecureUrl: true,
};

/**
 * Verifies access tokens that are JWTs (RFC 9068) with the issuer's public keys, and finds new keys automatically. While the keys cannot be
 * fetched, known ones are used for up to an hour. If there are none, or a token names another, it rejects with `temporarily_unavailable`
 * and the request gets 503: with 401, clients would discard valid tokens. Throws `configuration` for invalid options.
 *
 * ```ts
 * import { jwtVerifier } from "holdfast/auth";
 *
 * const verifier = jwtVerifier({
 *   issuer: "https://login.example.com",
 *   audience: "https://reports.example.com/mcp",
 *   jwks: new URL("https://login.example.com/.well-known/jwks.json"),
 * });
 * ```
 */
export function jwtVerifier(options: JwtVerifierOptions): TokenVerifier {
  return jwtVerifierBy(systemClock, options);
}

/** `jwtVerifier` with a given clock. */
export function jwtVerifierBy(clock: Clock, options: JwtVerifierOptions): TokenVerifier {
  assertOptionNames("jwtVerifier", options, verifierOptions);
  const { issuer, jwks, clockToleranceMs = 5_000, requiredClaims = [], type } = options;
  const { jwksMaxAgeMs = 600_000, jwksCooldownMs = 30_000, timeoutMs = 5_000 } = options;
  const { algorithms = asymmetric, allowInsecureUrl = false } = options;
  assertIssuer(issuer);
  assertAlgorithms(algorithms);
  assertNumbers({ clockToleranceMs, jwksMaxAgeMs, jwksCooldownMs });
  assertNumbers({ timeoutMs }, 1);
  const audience = audiencesOf(options.audience);
  const keysAt = (url: URL): RemoteKeys => {
    const endpoint = new Endpoint({ what: "The key set", url, timeoutMs, allowInsecureUrl, clock });
    return new RemoteKeys({ endpoint, clock, maxAgeMs: jwksMaxAgeMs, cooldownMs: jwksCooldownMs });
  };
  return new JwtCheck(jwks instanceof URL ? keysAt(jwks).find : localKeys(jwks), issuer, () => ({
    issuer,
    audience,
    algorithms: [...algorithms],
    clockTolerance: clockToleranceMs / 1_000,
    currentDate: new Date(clock.now()),
    requiredClaims: ["exp", ...requiredClaims],
    ...(type !== undefined && { typ: type }),
  }));
}

function localKeys(jwks: JSONWebKeySet): JWTVerifyGetKey<CryptoKey> {
  try {
    const keys = createLocalJWKSet(jwks);
    if (jwks.keys.some((key) => key.kty === "oct" || key.d !== undefined)) {
      throw new Error("It contains keys that are not public.");
    }
    return keys;
  } catch (cause) {
    throw new HoldfastError("configuration", "jwks must be a URL or a set of public keys.", { cause });
  }
}
