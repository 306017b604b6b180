import { furthest } from "../../task/progress.ts";
import type { Progress } from "../../task/record.ts";
import type { Clock } from "../clock.ts";
import type { Timers } from "../timers.ts";

/** Each report of progress is a durable write; a handler may report as often as it likes. */
const pauseMs = 100;

/** What a handler changes of its task. */
export interface HandlerChanges {
  readonly statusMessage?: string;
  readonly ttlMs?: number | null;
  readonly pollIntervalMs?: number;
}

/** What a handler changes of its task, or a TypeError: a value of another kind could never be stored. */
export function checkedChanges(changes: HandlerChanges, maxBytes: number): HandlerChanges {
  const { statusMessage, ttlMs, pollIntervalMs } = changes;
  if (statusMessage !== undefined) assertText("A status", statusMessage, maxBytes);
  if (ttlMs !== undefined && ttlMs !== null) assertWholeMs("A ttl", ttlMs);
  if (pollIntervalMs !== undefined) assertWholeMs("A poll interval", pollIntervalMs);
  return changes;
}

export function checkedProgress(progress: Progress, maxBytes: number): Progress {
  for (const number of [progress.progress, progress.total ?? 0]) {
    if (!Number.isFinite(number))
      throw new TypeError(`Progress has to be a finite number, not ${String(number)}.`);
  }
  if (progress.message !== undefined) assertText("A progress message", progress.message, maxBytes);
  return progress;
}

function assertText(what: string, text: unknown, maxBytes: number): void {
  if (typeof text !== "string") throw new TypeError(`${what} has to be a string, not ${typeof text}.`);
  if (Buffer.byteLength(text) > maxBytes) throw new RangeError(`${what} is larger than ${maxBytes} bytes.`);
}

function assertWholeMs(what: string, ms: unknown): void {
  if (Number.isSafeInteger(ms) && Number(ms) >= 0) return;
  throw new RangeError(`${what} has to be a whole number of milliseconds from 0 on, not ${String(ms)}.`);
}

interface Pending {
  changes: HandlerChanges;
  readonly written: PromiseWithResolvers<void>;
}

/**
 * Writes what a handler changes of its task, which may be as often as it likes: one write is under way at a time, and of
 * the changes that come meanwhile the last of each kind is in the next one.
 */
export class HandlerUpdates {
  readonly #write: (changes: HandlerChanges) => Promise<void>;
  readonly #underWay = new Set<Promise<void>>();
  #pending: Pending | undefined;

  constructor(write: (changes: HandlerChanges) => Promise<void>) {
    this.#write = write;
  }

  /** Resolves once these changes, or later ones in their place, are committed. The handler may leave it alone. */
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

  /** Begins to write what is pending, so that a write that comes now comes after it. */
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

  /** Resolves when what was changed so far is written, or has failed. */
  async written(): Promise<void> {
    this.flush();
    await Promise.all(this.#underWay);
  }
}

/** Writes a handler's progress: the furthest report, and no more than one in a while. */
export class ProgressReports {
  readonly #write: (progress: Progress) => Promise<unknown>;
  readonly #timers: Timers;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #latest: Progress | undefined;
  #writing = false;

  constructor(
    write: (progress: Progress) => Promise<unknown>,
    timers: Timers,
    clock: Clock,
    signal: AbortSignal,
  ) {
    this.#write = write;
    this.#timers = timers;
    this.#clock = clock;
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
        await this.#timers.until(this.#clock.now() + pauseMs, this.#signal);
      }
    } finally {
      this.#writing = false;
    }
  }
}
