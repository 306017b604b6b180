import { furthest } from "../../task/decide.ts";
import type { Progress } from "../../task/record.ts";
import { millisecondsOf, type TimeSpan } from "../../task/time.ts";
import type { Timers } from "../timers.ts";

/** The shortest time between two durable writes of progress, since handlers may report as often as they like. */
const pauseMs = 100;

/** A handler's changes of its task. */
export interface HandlerChanges {
  readonly statusMessage?: string;
  readonly ttlMs?: number | null;
  readonly pollIntervalMs?: number;
}

/** A handler's changes of its task, as it gives them. */
export interface GivenChanges {
  readonly statusMessage?: string;
  readonly ttlMs?: TimeSpan | null;
  readonly pollIntervalMs?: TimeSpan;
}

/** A handler's changes of its task. Throws a RangeError for a time that could not be stored, and a TypeError for one that is none. */
export function checkedChanges({ ttlMs, pollIntervalMs, ...changes }: GivenChanges): HandlerChanges {
  return {
    ...changes,
    ...(ttlMs !== undefined && { ttlMs: ttlMs === null ? null : wholeMs("A ttl", ttlMs) }),
    ...(pollIntervalMs !== undefined && { pollIntervalMs: wholeMs("A poll interval", pollIntervalMs) }),
  };
}

function wholeMs(what: string, given: TimeSpan): number {
  const ms = typeof given === "string" ? millisecondsOf(given) : given;
  if (Number.isSafeInteger(ms) && ms >= 0) return ms;
  throw new RangeError(`${what} must be a whole number of milliseconds, 0 or more, not ${String(given)}.`);
}

interface Pending {
  changes: HandlerChanges;
  readonly written: PromiseWithResolvers<void>;
}

/**
 * Writes a handler's changes of its task, which may be frequent: one write runs at a time, and the next one contains the last change of
 * each kind.
 */
export class HandlerUpdates {
  readonly #write: (changes: HandlerChanges) => Promise<void>;
  readonly #underWay = new Set<Promise<void>>();
  #pending: Pending | undefined;

  constructor(write: (changes: HandlerChanges) => Promise<void>) {
    this.#write = write;
  }

  /** Resolves once these changes, or later ones that replace them, are committed. The handler need not await it. */
  update(changes: HandlerChanges): Promise<void> {
    if (this.#pending === undefined) {
      const written = Promise.withResolvers<void>();
      written.promise.catch(() => undefined);
      this.#pending = { changes, written };
    } else this.#pending.changes = { ...this.#pending.changes, ...changes };
    const { promise } = this.#pending.written;
    if (this.#underWay.size === 0) this.flush();
    return promise;
  }

  /** Begins to write what is pending, so that a write started now comes after it. */
  flush(): void {
    const pending = this.#pending;
    if (pending === undefined) return;
    this.#pending = undefined;
    const { resolve, reject } = pending.written;
    const write = this.#write(pending.changes)
      .then(resolve, reject)
      .finally(() => {
        this.#underWay.delete(write);
        if (this.#underWay.size === 0) this.flush();
      });
    this.#underWay.add(write);
  }

  /** Resolves when all changes so far are written, or have failed. */
  async written(): Promise<void> {
    this.flush();
    await Promise.all(this.#underWay);
  }
}

/** Writes a handler's progress: the furthest report, and at most one per pause. */
export class ProgressReports {
  readonly #write: (progress: Progress) => Promise<unknown>;
  readonly #timers: Timers;
  readonly #signal: AbortSignal;
  #latest: Progress | undefined;
  #writing = false;

  constructor(write: (progress: Progress) => Promise<unknown>, timers: Timers, signal: AbortSignal) {
    this.#write = write;
    this.#timers = timers;
    this.#signal = signal;
  }

  report(progress: Progress): void {
    this.#latest = furthest(this.#latest ?? null, progress);
    if (this.#writing) return;
    this.#writing = true;
    // Nobody waits for a report: when the attempt ends, or loses its task, the rest is dropped.
    this.#writeAll().catch(() => undefined);
  }

  async #writeAll(): Promise<void> {
    try {
      while (this.#latest !== undefined) {
        const progress = this.#latest;
        this.#latest = undefined;
        await this.#write(progress);
        await this.#timers.pause(pauseMs, this.#signal);
      }
    } finally {
      this.#writing = false;
    }
  }
}
