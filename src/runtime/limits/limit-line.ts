import type { LimitAnswer, LimitCall, LimitHolder, LimitJoin, LimitStore } from "../../store/limits.ts";
import type { StoreClock } from "../clock.ts";
import { nextTurn } from "../wait-for.ts";
import { untilStoreAnswers } from "../observed-store.ts";

/**
 * A minute is counted as this long: a call leaves a little later than its permit is given, and a service counts those that arrive.
 */
const windowMs = 61_000;

/** A permit that has been under way for longer would let its call leave too late to be counted by its time. */
const freshMs = 500;

/** How often a process asks again that waits for others to be done. They tell it, unless they have died. */
const lookMs = 1_000;

const longestLookMs = 60_000;

export interface LineSetup {
  /** In the form of journal keys. */
  readonly name: string;
  readonly concurrency: number | null;
  readonly perMinute: number | null;
  readonly store: LimitStore;
  readonly clock: StoreClock;
  readonly onError: (error: unknown) => void;
  /** Aborts when the runtime stops. */
  readonly stopped: AbortSignal;
}

/** What becomes of a wait. */
export interface LimitWait {
  readonly granted: () => void;
  /** It has no permit at once. May be called more than once. */
  readonly waits: () => void;
  readonly failed: (error: unknown) => void;
}

interface Waiter {
  readonly join: LimitJoin;
  readonly told: LimitWait;
  /** The store knows of it. */
  isKnown: boolean;
  /** Its permit came late once; the next one counts. */
  wasLate: boolean;
}

/** Those of this process that have to do with one limit. They ask together, one call after the other. */
export class LimitLine {
  readonly #setup: LineSetup;
  readonly #waiters = new Map<string, Waiter>();
  #joins: LimitJoin[] = [];
  #leaves: LimitHolder[] = [];
  #pauseMs: number | null = null;
  #asks = false;
  #again = false;
  /** Whether the last call repeated joins that the store seemed not to have. */
  #repeats = false;
  #cancelTimer: (() => void) | undefined;
  #endLooks: (() => void) | undefined;

  constructor(setup: LineSetup) {
    this.#setup = setup;
  }

  /** Whether nothing is left to do here. */
  get isIdle(): boolean {
    return !this.#asks && this.#hasNothing;
  }

  get #hasNothing(): boolean {
    return this.#waiters.size === 0 && this.#leaves.length === 0;
  }

  /** Whether one of these tasks waits here. */
  concerns(ids: ReadonlySet<string>): boolean {
    for (const { join } of this.#waiters.values()) if (ids.has(join.taskId)) return true;
    return false;
  }

  /** Tells of its permit. Returns a function after which nothing more is told. */
  wait(join: LimitJoin, told: LimitWait): () => void {
    const key = keyOf(join);
    this.#waiters.set(key, { join, told, isKnown: false, wasLate: false });
    this.#joins.push(join);
    this.look();
    return () => void this.#waiters.delete(key);
  }

  /** It has ended, or no longer waits. With `pauseMs` nobody starts for so long. */
  leave(holder: LimitHolder, pauseMs: number | null = null): void {
    this.#leaves.push(holder);
    if (pauseMs !== null) this.#pauseMs = Math.max(pauseMs, this.#pauseMs ?? 0);
    this.look();
  }

  /** Asks the store, now or once it has answered. */
  look(): void {
    this.#again = true;
    if (this.#asks) return;
    this.#asks = true;
    void this.#ask();
  }

  async #ask(): Promise<void> {
    const { stopped, onError } = this.#setup;
    await nextTurn(); // those of the same turn ask together
    while (this.#again && !stopped.aborted) {
      this.#again = false;
      this.#stopTimers();
      if (this.#hasNothing) break; // each call stores the name, in which whoever was erased may stand
      try {
        this.#settle(await this.#call());
      } catch (error) {
        if (stopped.aborted) break; // whoever waits was released
        onError(error);
        for (const { told } of this.#waiters.values()) told.failed(error);
        this.#waiters.clear();
      }
    }
    this.#asks = false; // at once: who looks in between would wait for an answer that nobody asks for
  }

  async #call(): Promise<LimitAnswer & { readonly isLate: boolean }> {
    const { name, concurrency, perMinute, store, clock, stopped } = this.#setup;
    const joins = this.#joins.filter((join) => this.#waiters.has(keyOf(join)));
    const [leaves, pauseMs] = [this.#leaves, this.#pauseMs];
    this.#joins = [];
    this.#leaves = [];
    this.#pauseMs = null;
    for (const join of joins) {
      const waiter = this.#waiters.get(keyOf(join));
      if (waiter !== undefined) waiter.isKnown = true;
    }
    const about = { name, concurrency, starts: perMinute, windowMs, joins, leaves, pauseMs };
    let sentAt = 0;
    const ask = (): Promise<LimitAnswer> => {
      sentAt = clock.elapsed();
      const now = clock.now();
      const call: LimitCall = { ...about, now, setAhead: clock.lastSetAhead };
      return store.call(call);
    };
    const answer = await untilStoreAnswers(ask, this.#setup, stopped);
    return { ...answer, isLate: perMinute !== null && clock.elapsed() - sentAt > freshMs };
  }

  #settle({ granted, waiting, againMs, isLate }: LimitAnswer & { readonly isLate: boolean }): void {
    for (const holder of granted) {
      const key = keyOf(holder);
      const waiter = this.#waiters.get(key);
      if (waiter === undefined) this.leave(holder);
      else if (isLate && !waiter.wasLate) {
        waiter.wasLate = true;
        waiter.isKnown = false; // a handler that heard that it waits could be dropped, and would come late again
        this.#joins.push(waiter.join);
        this.#again = true;
      } else {
        this.#waiters.delete(key);
        waiter.told.granted();
      }
    }
    if (this.#waiters.size === 0) return;
    for (const { isKnown, told } of this.#waiters.values()) if (isKnown) told.waits();
    // An answer may have been lost: whoever asks again has what it was given.
    const misses = waiting < this.#waiters.size - this.#joins.length;
    if (misses) {
      this.#joins = [...this.#waiters.values()].map(({ join }) => join);
      if (!this.#repeats) this.#again = true; // else one has lost its task: it is asked for again with the next look
    }
    this.#repeats = misses;
    const { clock } = this.#setup;
    if (againMs === null) this.#endLooks = clock.every(lookMs, () => this.look());
    else this.#cancelTimer = clock.after(Math.min(againMs + 1, longestLookMs), () => this.look());
  }

  #stopTimers(): void {
    this.#cancelTimer?.();
    this.#endLooks?.();
    this.#cancelTimer = undefined;
    this.#endLooks = undefined;
  }
}

function keyOf({ taskId, entry, token }: LimitHolder): string {
  return JSON.stringify([taskId, entry, token]);
}
