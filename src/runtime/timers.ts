import type { Clock } from "./clock.ts";
import { waitFor } from "./wait-for.ts";

interface Timer {
  /** By the time elapsed. */
  readonly at: number;
  /** Undefined once it was cancelled or has run, so that it keeps nothing in memory. */
  run: (() => void) | undefined;
}

/** Maximum length of a timer of the system, which does not run while the machine is suspended, unless the clock says otherwise. */
const longestMs = 60_000;

/**
 * Calls back after given spans, however long, with one timer for all of them. The waits of handlers use it: once it is known how long one
 * lasts, setting a clock does not change that.
 */
export class Timers {
  readonly #clock: Clock;
  /** A binary heap, earliest first. Cancelled timers stay until they come up or are the majority. */
  #heap: Timer[] = [];
  #calledOff = 0;
  /** Each sets a timer of a date again. */
  readonly #dates = new Set<() => void>();
  #armedFor = Number.POSITIVE_INFINITY;
  #disarm: () => void = () => undefined;
  #closed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `run` at the time `at` (epoch ms), by what the clock shows now; returns a function that cancels it. */
  at(at: number, run: () => void): () => void {
    return this.after(at - this.#clock.now(), run);
  }

  /** The same, but by what the clock shows then, if it is set meanwhile. */
  byDate(at: number, run: () => void): () => void {
    let cancel: () => void;
    const arm = (): void => {
      cancel = this.at(at, () => {
        this.#dates.delete(again);
        run();
      });
    };
    const again = (): void => {
      cancel();
      arm();
    };
    arm();
    this.#dates.add(again);
    return () => {
      this.#dates.delete(again);
      cancel();
    };
  }

  /** Calls `run` after `ms` milliseconds; returns a function that cancels it. */
  after(ms: number, run: () => void): () => void {
    const timer: Timer = { at: this.#clock.elapsed() + ms, run };
    this.#push(timer);
    this.#arm();
    return () => {
      if (timer.run === undefined) return;
      timer.run = undefined;
      this.#calledOff++;
      if (this.#calledOff > this.#heap.length / 2) this.#compact();
    };
  }

  /** Resolves after `ms` milliseconds; rejects with the signal's reason if it aborts before. */
  pause(ms: number, signal: AbortSignal): Promise<void> {
    return waitFor((done) => this.after(ms, done), signal);
  }

  /** The clock was set, or time has passed without the system's timers. */
  look(): void {
    for (const again of this.#dates) again();
    this.#armedFor = Number.POSITIVE_INFINITY;
    this.#arm();
  }

  close(): void {
    this.#closed = true;
    this.#disarm();
    this.#heap = [];
  }

  #arm(): void {
    const first = this.#heap[0];
    if (this.#closed || first === undefined || first.at >= this.#armedFor) return;
    this.#disarm();
    this.#armedFor = first.at;
    const ms = Math.min(
      Math.max(0, first.at - this.#clock.elapsed()),
      this.#clock.longestTimerMs ?? longestMs,
    );
    this.#disarm = this.#clock.after(ms, () => {
      this.#armedFor = Number.POSITIVE_INFINITY;
      this.#runDue();
      this.#arm();
    });
  }

  #runDue(): void {
    const now = this.#clock.elapsed();
    for (let first = this.#heap[0]; first !== undefined && first.at <= now; first = this.#heap[0]) {
      this.#pop();
      const { run } = first;
      if (run === undefined) {
        this.#calledOff--;
        continue;
      }
      first.run = undefined;
      run();
    }
  }

  #compact(): void {
    const live = this.#heap.filter(({ run }) => run !== undefined);
    this.#heap = [];
    this.#calledOff = 0;
    for (const timer of live) this.#push(timer);
  }

  #push(timer: Timer): void {
    const heap = this.#heap;
    let place = heap.push(timer) - 1;
    while (place > 0) {
      const above = (place - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || parent.at <= timer.at) break;
      heap[place] = parent;
      place = above;
    }
    heap[place] = timer;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let place = 0;
    for (;;) {
      const left = 2 * place + 1;
      const right = left + 1;
      const below = (heap[right]?.at ?? Infinity) < (heap[left]?.at ?? Infinity) ? right : left;
      const child = heap[below];
      if (child === undefined || child.at >= last.at) break;
      heap[place] = child;
      place = below;
    }
    heap[place] = last;
  }
}
