import type { ClientClock } from "../clock.ts";
import { withJitter } from "./poll-delays.ts";
import { unlessAborted } from "../unless-aborted.ts";

/**
 * Limits the polls of one task beyond the server's interval: the intervals that the waiting callers ask for, and a
 * Retry-After, which stays in force when callers change.
 */
export class TaskPollLimit {
  /** Called when the time of the next poll may have changed. */
  onChange = (): void => undefined;
  readonly #clock: ClientClock;
  /** Of the current callers. */
  readonly #intervals = new Set<{ readonly ms: number }>();
  #notBefore = -Infinity;

  constructor(clock: ClientClock) {
    this.#clock = clock;
  }

  /** The earliest time of the next poll, by the monotonic clock. */
  get notBefore(): number {
    return this.#notBefore;
  }

  /** The shortest interval that a caller asks for, in milliseconds. */
  get requestedIntervalMs(): number {
    if (this.#intervals.size === 0) return 0;
    return Math.min(...[...this.#intervals].map(({ ms }) => ms));
  }

  /** Adds a caller's interval. Returns a function that removes it. */
  addInterval(intervalMs = 0): () => void {
    const interval = { ms: intervalMs };
    const before = this.requestedIntervalMs;
    this.#intervals.add(interval);
    if (this.requestedIntervalMs !== before) this.onChange();
    return () => {
      const last = this.requestedIntervalMs;
      this.#intervals.delete(interval);
      if (this.#intervals.size > 0 && this.requestedIntervalMs !== last) this.onChange();
    };
  }

  /** Sends no poll for this long, and up to a tenth longer, so that clients do not come back at once. */
  pauseFor(retryAfterMs: number): void {
    const until = this.#clock.elapsed() + withJitter(retryAfterMs, this.#clock.random());
    this.#notBefore = Math.max(this.#notBefore, until);
  }
}

/** Concurrent polls of one client: over HTTP each has its own connection. */
const maxConcurrent = 64;
/** Limits the polls of one client to 200 per second. */
const msPerTask = 5;

/** Limits the rate and the concurrency of all polls of one client. */
export class ClientPollLimit {
  /** The shortest interval that the client allows, in milliseconds. */
  readonly floorMs: number;
  readonly #queue = new Set<() => void>();
  #tasks = 0;
  #active = 0;

  constructor(floorMs: number) {
    this.floorMs = floorMs;
  }

  /** The shortest interval between two polls of one task, given the number of tasks. */
  get intervalMs(): number {
    return this.#tasks * msPerTask;
  }

  /** Counts a polled task. Returns a function that undoes it. */
  register(): () => void {
    this.#tasks++;
    return () => void this.#tasks--;
  }

  /** Waits for a slot for one poll. Resolves with a function that releases it. Rejects with the signal's reason. */
  async acquire(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#active < maxConcurrent) this.#active++;
    else await this.#waitForSlot(signal);
    return () => this.#release();
  }

  async #waitForSlot(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const acquired = (): void => {
      this.#queue.delete(acquired);
      resolve();
    };
    this.#queue.add(acquired);
    try {
      await unlessAborted(promise, signal);
    } catch (error) {
      // The slot may have been assigned at the moment of the abort.
      if (!this.#queue.delete(acquired)) this.#release();
      throw error;
    }
  }

  /** Passes the slot to the next in the queue: polls that wait come before new ones. */
  #release(): void {
    const [next] = this.#queue;
    if (next === undefined) this.#active--;
    else next();
  }
}
