import { createHash } from "node:crypto";
import { HoldfastError } from "../../task/fault.ts";
import { type Clock, systemClock } from "../../runtime/clock.ts";
import {
  assertOptions,
  callback,
  flag,
  number,
  type Settings,
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
  undecided,
} from "./access-token.ts";
import type { TimeSpan } from "../../task/time.ts";
import type { JsonObject } from "../../generation/message.ts";

/** This server's credentials at the introspection endpoint: client id and secret, or an `Authorization` header. */
export type IntrospectionCredentials =
  | {
      readonly clientId: string;
      readonly clientSecret: string;
      readonly authorization?: never;
    }
  | {
      /** Returns the value of the `Authorization` header; called for each lookup. */
      readonly authorization: () => string | Promise<string>;
      readonly clientId?: never;
      readonly clientSecret?: never;
    };

/** Returns the value of the `Authorization` header; throws `configuration` if there is none. */
function credentialsHeader(credentials: IntrospectionCredentials): () => string | Promise<string> {
  const { authorization, clientId, clientSecret } = credentials;
  if (authorization !== undefined) return authorization;
  if (typeof clientId !== "string" || clientId === "" || typeof clientSecret !== "string") {
    throw new HoldfastError(
      "configuration",
      "Token introspection needs clientId and clientSecret, or authorization.",
    );
  }
  const pair = `${formEncoded(clientId)}:${formEncoded(clientSecret)}`;
  const header = `Basic ${Buffer.from(pair).toString("base64")}`;
  return () => header;
}

/** Name and secret are encoded before they are joined, because either may contain a colon (RFC 6749, 2.3.1). */
function formEncoded(plain: string): string {
  return new URLSearchParams({ "": plain }).toString().slice(1);
}

class DeclaredOptions {
  /** The introspection endpoint of the authorization server (`introspection_endpoint` of its metadata). */
  readonly url: URL = value("a URL", (given) => given instanceof URL, { required: true });
  /** The issuer. An answer that names another one is refused. */
  readonly issuer: string = text(
    "the URL that identifies the authorization server",
    (url) => URL.canParse(url),
    {
      required: true,
    },
  );
  /**
   * The expected `aud` of the answer: this server's name at the issuer. If you list several, one has to match. `false` skips the check, for
   * authorization servers that report a token as active only to its audience.
   */
  readonly audience: string | readonly string[] | false = value(
    "what tokens are issued for, or `false`",
    (given) => given === false || isAudience(given),
    { required: true },
  );
  /**
   * How long a valid token is cached, in milliseconds, but never after it expires. A revoked token may be accepted for this long. Default:
   * one minute; 0 asks each time.
   */
  readonly maxAgeMs?: TimeSpan = time({ min: 0, fractions: true, default: 60_000 });
  /** How long an invalid token is cached, in milliseconds. Default 10 seconds. */
  readonly refusedMaxAgeMs?: TimeSpan = time({ min: 0, fractions: true, default: 10_000 });
  /** Maximum number of cached tokens, for valid and invalid ones each. Default 10,000. */
  readonly maxEntries?: number = number({ min: 1, default: 10_000 });
  /**
   * Maximum number of lookups at the same time, plus as many for tokens that were valid before, so that made-up tokens do not lock out
   * known callers. Above it, requests get 503. Default 100.
   */
  readonly maxConcurrent?: number = number({ min: 1, default: 100 });
  /** The accepted difference between the clocks of the two servers, in milliseconds. Default 5,000. */
  readonly clockToleranceMs?: TimeSpan = time({ min: 0, fractions: true, default: 5_000 });
  /** How long to wait for an answer, in milliseconds; default 5,000. */
  readonly timeoutMs?: TimeSpan = time({ min: 1, fractions: true, default: 5_000 });
  /** Allows an `http:` URL of another machine. Anyone who controls the network can then read tokens and the secret. Default false. */
  readonly allowInsecureUrl?: boolean = flag({ default: false });
}

interface Options extends DeclaredOptions {}

/** Options of `introspectionVerifier`. */
export type IntrospectionVerifierOptions = Options & IntrospectionCredentials;

class DeclaredWithCredentials extends DeclaredOptions {
  readonly clientId?: string = text("a non-empty string", (given) => given !== "", {});
  readonly clientSecret?: string = text("a string", () => true, { secret: true });
  readonly authorization?: () => string | Promise<string> = callback();
}

const verifierOptions = tableOf(DeclaredWithCredentials);

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
  assertOptions("introspectionVerifier", options, verifierOptions);
  const settings = settingsOf<Options>(verifierOptions, options);
  const endpoint = new Endpoint({ ...settings, what: "Token introspection", clock });
  return new Introspection({ ...settings, endpoint, clock, authorization: credentialsHeader(options) });
}

interface IntrospectionSetup extends Settings<Options> {
  readonly endpoint: Endpoint;
  readonly clock: Clock;
  readonly authorization: () => string | Promise<string>;
}

/** For how long after its last verdict a valid token has a reserved place, in ms. */
const knownMs = 24 * 3_600_000;

/** The verdict on a token: its claims, or why it is refused. */
type Verdict = { readonly claims: JsonObject } | { readonly refused: string };

/** Asks the authorization server for tokens, and remembers its answers. */
class Introspection implements TokenVerifier {
  readonly #setup: IntrospectionSetup;
  readonly #good: ExpiringCache<JsonObject>;
  /** Separate from the valid ones, so that made-up tokens cannot push those out. */
  readonly #refused: ExpiringCache<string>;
  /** Tokens that were good and are asked for again. Those of strangers, made up perhaps, take no place from them. */
  readonly #knownAsked = new Map<string, Promise<Verdict>>();
  readonly #unknownAsked = new Map<string, Promise<Verdict>>();
  readonly #known: ExpiringCache<true>;

  constructor(setup: IntrospectionSetup) {
    this.#setup = setup;
    this.#good = new ExpiringCache(setup.maxEntries);
    this.#refused = new ExpiringCache(setup.maxEntries);
    this.#known = new ExpiringCache(setup.maxEntries);
  }

  async verifyAccessToken(token: string): Promise<AccessToken> {
    // Whoever gets at the memory of this process finds no tokens in it that are not in use.
    const key = createHash("sha256").update(token).digest("base64url");
    const verdict = this.#remembered(key) ?? (await this.#shared(key, token));
    if ("refused" in verdict) throw invalidToken(verdict.refused);
    return accessTokenOf(token, this.#setup.issuer, verdict.claims);
  }

  #remembered(key: string): Verdict | undefined {
    const now = this.#setup.clock.elapsed();
    const claims = this.#good.get(key, now);
    if (claims !== undefined) return { claims };
    const refused = this.#refused.get(key, now);
    return refused === undefined ? undefined : { refused };
  }

  #shared(key: string, token: string): Promise<Verdict> {
    const asked = this.#knownAsked.get(key) ?? this.#unknownAsked.get(key);
    if (asked !== undefined) return asked;
    const { clock, maxConcurrent } = this.#setup;
    const isKnown = this.#known.get(key, clock.elapsed()) === true;
    const places = isKnown ? this.#knownAsked : this.#unknownAsked;
    if (places.size >= maxConcurrent) {
      return Promise.reject(undecided("Too many tokens are being verified."));
    }
    const verdict = this.#ask(key, token).finally(() => places.delete(key));
    places.set(key, verdict);
    return verdict;
  }

  async #ask(key: string, token: string): Promise<Verdict> {
    const { endpoint, authorization, clock, maxAgeMs, refusedMaxAgeMs } = this.#setup;
    const credentials = (async () => authorization())().catch((cause: unknown) => {
      throw unavailable("The credentials for the introspection endpoint could not be obtained.", cause);
    });
    const answer = await endpoint.ask({
      method: "POST",
      headers: { Accept: "application/json", Authorization: await credentials },
      body: new URLSearchParams({ token, token_type_hint: "access_token" }),
    });
    const refused = this.#reasonAgainst(answer, clock.now());
    const now = clock.elapsed();
    if (refused !== undefined) {
      this.#refused.set(key, refused, now, now + refusedMaxAgeMs);
      this.#known.delete(key);
      return { refused };
    }
    const { exp } = answer;
    const end = typeof exp === "number" ? now + exp * 1_000 - clock.now() : Infinity;
    this.#good.set(key, answer, now, Math.min(now + maxAgeMs, end));
    this.#known.set(key, true, now, Math.min(now + knownMs, end));
    return { claims: answer };
  }

  #reasonAgainst({ active, exp, nbf, iss, aud, token_type }: JsonObject, now: number): string | undefined {
    const { issuer, audience, clockToleranceMs } = this.#setup;
    if (active !== true) return "The token is not valid";
    if (exp !== undefined && !(typeof exp === "number" && exp * 1_000 > now - clockToleranceMs)) {
      return "The token has expired";
    }
    if (nbf !== undefined && !(typeof nbf === "number" && nbf * 1_000 <= now + clockToleranceMs)) {
      return "The claim nbf is not accepted";
    }
    if (iss !== undefined && iss !== issuer) return "The claim iss is not accepted";
    const meantFor: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
    if (audience !== false && ![audience].flat().some((one) => meantFor.includes(one))) {
      return "The claim aud is not accepted";
    }
    // A token that is bound to a key (DPoP) must not count without the proof.
    const isBearer = typeof token_type !== "string" || /^(?:bearer|access_token)$/i.test(token_type);
    return isBearer ? undefined : "The token is not a bearer token";
  }
}

interface Entry<T> {
  readonly value: T;
  readonly from: number;
  readonly until: number;
}

/** A limited number of values, each with its own expiry. The least recently used one makes room. */
export class ExpiringCache<T> {
  readonly #maxEntries: number;
  /** In the order of their last use. */
  readonly #entries = new Map<string, Entry<T>>();

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries;
  }

  get(key: string, now: number): T | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    // A clock that is put back makes nothing last longer.
    if (now < entry.from || now >= entry.until) return undefined;
    this.#entries.set(key, entry);
    return entry.value;
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  set(key: string, entry: T, from: number, until: number): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value: entry, from, until });
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#maxEntries) return;
      this.#entries.delete(oldest);
    }
  }
}
