import { createHash } from "node:crypto";
import type { JsonObject } from "../../generation/message.ts";
import type { Clock } from "../../runtime/clock.ts";
import {
  invalidToken,
  unavailable,
  undecided,
  type AccessToken,
  type TokenVerifier,
} from "./access-token.ts";
import { accessTokenOf } from "./claims.ts";
import type { Endpoint } from "./endpoint.ts";
import { ExpiringCache } from "./expiring-cache.ts";

export interface IntrospectionSetup {
  readonly endpoint: Pick<Endpoint, "ask">;
  readonly clock: Clock;
  readonly authorization: () => string | Promise<string>;
  readonly issuer: string;
  readonly audiences: readonly string[] | undefined;
  readonly maxAgeMs: number;
  readonly refusedMaxAgeMs: number;
  readonly maxEntries: number;
  readonly maxConcurrent: number;
  readonly clockToleranceMs: number;
}

/** For how long after its last verdict a valid token has a reserved place, in ms. */
const knownMs = 24 * 3_600_000;

/** The verdict on a token: its claims, or why it is refused. */
type Verdict = { readonly claims: JsonObject } | { readonly refused: string };

/** Asks the authorization server for tokens, and remembers its answers. */
export class Introspection implements TokenVerifier {
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
    const now = this.#setup.clock.now();
    const claims = this.#good.get(key, now);
    if (claims !== undefined) return { claims };
    const refused = this.#refused.get(key, now);
    return refused === undefined ? undefined : { refused };
  }

  #shared(key: string, token: string): Promise<Verdict> {
    const asked = this.#knownAsked.get(key) ?? this.#unknownAsked.get(key);
    if (asked !== undefined) return asked;
    const { clock, maxConcurrent } = this.#setup;
    const isKnown = this.#known.get(key, clock.now()) === true;
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
    const now = clock.now();
    const refused = this.#reasonAgainst(answer, now);
    if (refused !== undefined) {
      this.#refused.set(key, refused, now, now + refusedMaxAgeMs);
      this.#known.delete(key);
      return { refused };
    }
    const { exp } = answer;
    const end = typeof exp === "number" ? exp * 1_000 : Infinity;
    this.#good.set(key, answer, now, Math.min(now + maxAgeMs, end));
    this.#known.set(key, true, now, Math.min(now + knownMs, end));
    return { claims: answer };
  }

  #reasonAgainst({ active, exp, nbf, iss, aud, token_type }: JsonObject, now: number): string | undefined {
    const { issuer, audiences, clockToleranceMs } = this.#setup;
    if (active !== true) return "The token is not valid";
    if (exp !== undefined && !(typeof exp === "number" && exp * 1_000 > now - clockToleranceMs)) {
      return "The token has expired";
    }
    if (nbf !== undefined && !(typeof nbf === "number" && nbf * 1_000 <= now + clockToleranceMs)) {
      return "The claim nbf is not accepted";
    }
    if (iss !== undefined && iss !== issuer) return "The claim iss is not accepted";
    const meantFor: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
    if (audiences !== undefined && !audiences.some((one) => meantFor.includes(one))) {
      return "The claim aud is not accepted";
    }
    // A token that is bound to a key (DPoP) must not count without the proof.
    const isBearer = typeof token_type !== "string" || /^(?:bearer|access_token)$/i.test(token_type);
    return isBearer ? undefined : "The token is not a bearer token";
  }
}
