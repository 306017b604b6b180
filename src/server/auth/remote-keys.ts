import {
  createLocalJWKSet,
  errors,
  type CryptoKey,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
  type LocalJWKSet,
} from "jose";
import type { Clock } from "../../runtime/clock.ts";
import { unavailable, undecided } from "./access-token.ts";
import type { Endpoint } from "./endpoint.ts";

export interface RemoteKeysSetup {
  readonly endpoint: Pick<Endpoint, "ask">;
  readonly clock: Clock;
  readonly maxAgeMs: number;
  readonly cooldownMs: number;
}

interface Known {
  readonly find: LocalJWKSet;
  readonly at: number;
  /** The number of the request that brought them. */
  readonly read: number;
  /** Keys that tokens named before these were asked for, and that are not among them. */
  readonly missing: Set<string>;
}

/** Maximum number of missing keys remembered, and maximum length of their names. */
const maxMissing = 1_000;
const maxNameLength = 256;

/** How long old keys are used if they cannot be fetched again. Keys removed meanwhile stay valid that long. */
const longestStaleMs = 60 * 60_000;

/** Without any keys all requests are refused, so they are asked for again soon. */
const pauseWithoutKeysMs = 1_000;

/**
 * The keys of an issuer. They are fetched again when they are old, and when a token names an unknown key, but at most every `cooldownMs`,
 * because anyone can name keys. Until then it is unknown whether a key is new, so its tokens are not refused for good: made-up keys cannot
 * lock out a new one. jose has the same, by its own clock, without a pause after a failure, and with a refusal.
 */
export class RemoteKeys {
  readonly #setup: RemoteKeysSetup;
  #known: Known | undefined;
  #failure: Error | undefined;
  #triedAt = -Infinity;
  #reads = 0;
  #pending: Promise<void> | undefined;

  constructor(setup: RemoteKeysSetup) {
    this.#setup = setup;
  }

  /** The key for a token; rejects as jose does, and with `temporarily_unavailable` if it is unknown. */
  readonly find: JWTVerifyGetKey<CryptoKey> = async (header, token) => {
    const readsBefore = this.#reads;
    const known = await this.#current();
    try {
      return await known.find(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      const newer = await this.#newerThan(known);
      const key = newer === undefined ? undefined : await newer.find(header, token).catch(unlessMissing);
      if (key !== undefined) return key;
      if (isMissingIn(newer ?? known, `${header.alg} ${header.kid ?? ""}`, readsBefore)) throw error;
      throw undecided(
        "The token names an unknown key, which may be newer than the keys fetched a moment ago.",
      );
    }
  };

  /** Keys that are not too old, or the old ones if newer ones cannot be fetched. */
  async #current(): Promise<Known> {
    const { maxAgeMs } = this.#setup;
    if (this.#known !== undefined && this.#since(this.#known.at) < maxAgeMs) return this.#known;
    if (this.#mayTry()) await this.#read();
    const known = this.#known;
    if (known !== undefined && this.#since(known.at) < Math.max(maxAgeMs, longestStaleMs)) return known;
    throw this.#failure ?? unavailable("The issuer's keys are not known.");
  }

  /** Keys fetched after `known`, if any; rejects if they cannot be fetched. */
  async #newerThan(known: Known): Promise<Known | undefined> {
    if (this.#known !== known) return this.#known;
    if (this.#mayTry()) await this.#read();
    // Whether the key is new is not known, so the token is not refused for good.
    if (this.#failure !== undefined) throw this.#failure;
    return this.#known === known ? undefined : this.#known;
  }

  #mayTry(): boolean {
    const { cooldownMs } = this.#setup;
    const pause = this.#known === undefined ? Math.min(pauseWithoutKeysMs, cooldownMs) : cooldownMs;
    return this.#pending !== undefined || this.#since(this.#triedAt) >= pause;
  }

  /** Milliseconds since then; infinite if the clock was set back, so that keys are not used longer. */
  #since(then: number): number {
    const passed = this.#setup.clock.now() - then;
    return passed < 0 ? Infinity : passed;
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
    this.#triedAt = clock.now();
    const read = ++this.#reads;
    try {
      const found = await endpoint.ask({ headers: { Accept: "application/jwk-set+json, application/json" } });
      this.#known = {
        find: createLocalJWKSet(found as unknown as JSONWebKeySet),
        at: clock.now(),
        read,
        missing: new Set(),
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

function unlessMissing(error: unknown): undefined {
  if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
}

/** Whether the keys were asked for after a token named this one, and do not have it. */
function isMissingIn({ read, missing }: Known, name: string, readsBefore: number): boolean {
  if (read > readsBefore && name.length <= maxNameLength && missing.size < maxMissing) missing.add(name);
  return read > readsBefore || missing.has(name);
}
