import {
  createLocalJWKSet,
  errors,
  type CryptoKey,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
  type LocalJWKSet,
} from "jose";
import type { Clock } from "../../runtime/clock.ts";
import { unavailable } from "./access-token.ts";
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
}

/** How long keys count that cannot be read again; whoever was removed from them meanwhile is let in so long. */
const longestStaleMs = 60 * 60_000;

/** Without any keys all requests are refused, so they are asked for again soon. */
const pauseWithoutKeysMs = 1_000;

/**
 * The keys of an issuer, read again when they are old, and when a token names a key that is not among them, though not
 * more often than every `cooldownMs`: anyone can name keys. jose has the same, by its own clock and without a pause
 * after a failure.
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

  /** The key for a token; rejects as jose does, and with `temporarily_unavailable` where it is not known. */
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

  /** Keys that are not too old; where newer ones cannot be had, those that there are. */
  async #current(): Promise<Known> {
    const { maxAgeMs } = this.#setup;
    if (this.#known !== undefined && this.#since(this.#known.at) < maxAgeMs) return this.#known;
    if (this.#mayTry()) await this.#read();
    const known = this.#known;
    if (known !== undefined && this.#since(known.at) < Math.max(maxAgeMs, longestStaleMs)) return known;
    throw this.#failure ?? unavailable("The issuer's keys are not known.");
  }

  /** The keys that came after `known`, if any; rejects where that cannot be found out. */
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

  /** Milliseconds since then; for ever, where the clock was put back: keys count no longer for that. */
  #since(then: number): number {
    const passed = this.#setup.clock.now() - then;
    return passed < 0 ? Infinity : passed;
  }

  /** Resolves however it went; all who need it at the same time share one request. */
  #read(): Promise<void> {
    this.#pending ??= this.#fetch().finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  async #fetch(): Promise<void> {
    const { endpoint, clock } = this.#setup;
    this.#triedAt = clock.now();
    try {
      const found = await endpoint.ask({ headers: { Accept: "application/jwk-set+json, application/json" } });
      this.#known = { find: createLocalJWKSet(found as unknown as JSONWebKeySet), at: clock.now() };
      this.#failure = undefined;
    } catch (error) {
      const isOurs = !(error instanceof errors.JOSEError);
      this.#failure = isOurs
        ? (error as Error)
        : unavailable("The issuer's keys are not a JSON Web Key Set.", error);
    }
  }
}
