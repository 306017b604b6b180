import { OAuthError } from "@modelcontextprotocol/server";
import {
  createLocalJWKSet,
  type CryptoKey,
  decodeJwt,
  errors,
  type JSONWebKeySet,
  type JWTPayload,
  jwtVerify,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  type LocalJWKSet,
} from "jose";
import { HoldfastError } from "../../task/fault.ts";
import { type Clock, systemClock } from "../../runtime/clock.ts";
import {
  assertOptions,
  choices,
  flag,
  isObject,
  list,
  settingsOf,
  tableOf,
  text,
  time,
  value,
} from "../../options/options.ts";
import {
  type AccessToken,
  accessTokenOf,
  Endpoint,
  invalidToken,
  isAudience,
  type TokenVerifier,
  unavailable,
} from "./access-token.ts";
import type { TimeSpan } from "../../task/time.ts";

/**
 * The signature algorithms that you can allow. All use a key pair. Never `none`, and never `HS256` or similar: with those, anyone who can
 * verify can also sign, and a public key could be passed off as the secret.
 */
const asymmetric = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
] as const;

/** A signature algorithm of JWTs that a verifier may allow. */
export type Algorithm = (typeof asymmetric)[number];

const isFilled = (given: string): boolean => given !== "";

class DeclaredJwtVerifierOptions {
  /** The issuer, exactly as in the `iss` claim of its tokens. */
  readonly issuer: string = text(
    "the URL that identifies the authorization server",
    (url) => URL.canParse(url),
    {
      required: true,
    },
  );
  /** The expected `aud` claim: this server's name at the issuer. If you list several, one has to match. */
  readonly audience: string | readonly string[] = value("what tokens are issued for", isAudience, {
    required: true,
  });
  /** The URL of the issuer's keys (`jwks_uri` of its metadata), or the keys themselves. */
  readonly jwks: URL | JSONWebKeySet = value("a URL or a set of public keys", isObject, { required: true });
  /** The accepted signature algorithms. Default: all asymmetric ones (RSA, elliptic curves, Ed25519). */
  readonly algorithms?: readonly Algorithm[] = choices(asymmetric, { default: asymmetric });
  /** The accepted difference between the clocks of issuer and server, in milliseconds. Default 5,000. */
  readonly clockToleranceMs?: TimeSpan = time({ min: 0, fractions: true, default: 5_000 });
  /** Required claims besides `iss`, `aud` and `exp`. */
  readonly requiredClaims?: readonly string[] = list("names of claims", isFilled, { default: [] });
  /** The required `typ` header: `at+jwt` (RFC 9068) refuses the issuer's other tokens. Default: any. */
  readonly type?: string = text("a non-empty string", isFilled, {});
  /** How long keys are used before they are fetched again; default 10 minutes. */
  readonly jwksMaxAgeMs?: TimeSpan = time({ min: 0, fractions: true, default: 600_000 });
  /** The shortest time between two fetches because of a token with an unknown key; default 30 seconds. */
  readonly jwksCooldownMs?: TimeSpan = time({ min: 0, fractions: true, default: 30_000 });
  /** How long to wait for the keys; default 5 seconds. */
  readonly timeoutMs?: TimeSpan = time({ min: 1, fractions: true, default: 5_000 });
  /** Allows an `http:` URL of another machine as `jwks`. Anyone who controls the network can then replace the keys. Default false. */
  readonly allowInsecureUrl?: boolean = flag({ default: false });
}

/** Options of `jwtVerifier`. */
export interface JwtVerifierOptions extends DeclaredJwtVerifierOptions {}

const verifierOptions = tableOf<JwtVerifierOptions>(DeclaredJwtVerifierOptions);

/**
 * Verifies access tokens that are JWTs (RFC 9068) with the issuer's public keys, and finds new keys automatically. While the keys cannot be
 * fetched, known ones are used for up to an hour. If there are none, or a token names another meanwhile, it rejects with
 * `temporarily_unavailable` and the request gets 503: with 401, clients would discard valid tokens. Throws `configuration` for invalid options.
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
  assertOptions("jwtVerifier", options, verifierOptions);
  const settings = settingsOf<JwtVerifierOptions, "type">(verifierOptions, options);
  const { issuer, audience, jwks, algorithms, clockToleranceMs, requiredClaims, type } = settings;
  const keysAt = (url: URL): RemoteKeys => {
    const endpoint = new Endpoint({ ...settings, what: "The key set", url, clock });
    const { jwksMaxAgeMs: maxAgeMs, jwksCooldownMs: cooldownMs } = settings;
    return new RemoteKeys({ endpoint, clock, maxAgeMs, cooldownMs });
  };
  return new JwtCheck(jwks instanceof URL ? keysAt(jwks).find : localKeys(jwks), issuer, () => ({
    issuer,
    audience: [audience].flat(),
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

/** Checks a token's signature and claims. */
export class JwtCheck implements TokenVerifier {
  readonly #keys: JWTVerifyGetKey<CryptoKey>;
  readonly #issuer: string;
  readonly #expected: () => JWTVerifyOptions;

  constructor(keys: JWTVerifyGetKey<CryptoKey>, issuer: string, expected: () => JWTVerifyOptions) {
    this.#keys = keys;
    this.#issuer = issuer;
    this.#expected = expected;
  }

  async verifyAccessToken(token: string): Promise<AccessToken> {
    try {
      // Its key would be looked for among those of our issuer, which may be down.
      if (decodeJwt(token).iss !== this.#issuer) throw invalidToken("The claim iss is not accepted");
      return accessTokenOf(token, this.#issuer, await this.#claimsOf(token));
    } catch (error) {
      // jose's own error contains the claims, which must not be logged.
      if (error instanceof errors.JOSEError) throw invalidToken(reasonOf(error));
      if (error instanceof OAuthError) throw error;
      // jose says of a key that is damaged or too short what WebCrypto does. The token may be good.
      throw unavailable("A key of the issuer cannot be used.", error);
    }
  }

  async #claimsOf(token: string): Promise<JWTPayload> {
    const expected = this.#expected();
    try {
      return (await jwtVerify(token, this.#keys, expected)).payload;
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
      // The token names no key: any of them may be the one.
      for await (const key of error) {
        const found = await jwtVerify(token, key, expected).catch(unlessOfAnother);
        if (found !== undefined) return found.payload;
      }
      throw new errors.JWSSignatureVerificationFailed();
    }
  }
}

/** That a key of an issuer cannot be used does not count against the others. */
function unlessOfAnother(error: unknown): undefined {
  const isOfKey = !(error instanceof errors.JOSEError);
  if (!isOfKey && !(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
}

/** Helps to set up the server and its client, and reveals nothing that is not in the token. */
function reasonOf(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return "The token has expired";
  if (error instanceof errors.JWTClaimValidationFailed) return `The claim ${error.claim} is not accepted`;
  return "The token is not valid";
}

export interface RemoteKeysSetup {
  readonly endpoint: Pick<Endpoint, "ask">;
  readonly clock: Clock;
  readonly maxAgeMs: number;
  readonly cooldownMs: number;
}

interface Known {
  readonly find: LocalJWKSet;
  readonly at: number;
}

/** How long old keys are used if they cannot be fetched again. Keys removed meanwhile stay valid that long. */
const longestStaleMs = 60 * 60_000;

/** Without any keys all requests are refused, so they are asked for again soon. */
const pauseWithoutKeysMs = 1_000;

/**
 * The keys of an issuer. They are fetched again when they are old, and when a token names an unknown key, but at most every `cooldownMs`,
 * because anyone can name keys. A key that is not among those that were fetched last is no key of the issuer. Only while they cannot be
 * fetched is that unknown. jose has the same by its own clock, and without a pause after a failure, so that anyone could make the server ask
 * an issuer that is down with each request.
 */
export class RemoteKeys {
  readonly #setup: RemoteKeysSetup;
  #known: Known | undefined;
  #failure: Error | undefined;
  #triedAt = -Infinity;
  #pending: Promise<void> | undefined;

  constructor(setup: RemoteKeysSetup) {
    this.#setup = setup;
  }

  /** The key for a token; rejects as jose does, and with `temporarily_unavailable` if the keys cannot be fetched. */
  readonly find: JWTVerifyGetKey<CryptoKey> = async (header, token) => {
    const known = await this.#current();
    try {
      return await known.find(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      const newer = await this.#newerThan(known);
      if (newer === undefined) throw error;
      return newer.find(header, token);
    }
  };

  /** Keys that are not too old, or the old ones if newer ones cannot be fetched. */
  async #current(): Promise<Known> {
    const { maxAgeMs } = this.#setup;
    if (this.#known !== undefined && this.#since(this.#known.at) < maxAgeMs) return this.#known;
    if (this.#mayTry()) await this.#read();
    const known = this.#known;
    if (known !== undefined && this.#since(known.at) < Math.max(maxAgeMs, longestStaleMs)) return known;
    throw this.#failure ?? unavailable("The issuer's keys could not be fetched.");
  }

  /** Keys fetched after `known`, if any; rejects if they cannot be fetched. */
  async #newerThan(known: Known): Promise<Known | undefined> {
    if (this.#known !== known) return this.#known;
    if (this.#mayTry()) await this.#read();
    // Whether the key is new is not known: with a refusal, its client would throw a good token away.
    if (this.#failure !== undefined) throw this.#failure;
    return this.#known === known ? undefined : this.#known;
  }

  #mayTry(): boolean {
    const { cooldownMs } = this.#setup;
    const pause = this.#known === undefined ? Math.min(pauseWithoutKeysMs, cooldownMs) : cooldownMs;
    return this.#pending !== undefined || this.#since(this.#triedAt) >= pause;
  }

  #since(then: number): number {
    return this.#setup.clock.elapsed() - then;
  }

  /** Resolves on success and failure. Concurrent callers share one request. */
  #read(): Promise<void> {
    this.#pending ??= this.#fetch().finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  async #fetch(): Promise<void> {
    const { endpoint, clock } = this.#setup;
    this.#triedAt = clock.elapsed();
    try {
      const found = await endpoint.ask({ headers: { Accept: "application/jwk-set+json, application/json" } });
      this.#known = {
        find: createLocalJWKSet(found as unknown as JSONWebKeySet),
        at: clock.elapsed(),
      };
      this.#failure = undefined;
    } catch (error) {
      const isOurs = !(error instanceof errors.JOSEError);
      this.#failure = isOurs
        ? (error as Error)
        : unavailable("The issuer's keys are not a JSON Web Key Set.", error);
    }
  }
}
