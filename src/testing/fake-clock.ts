import { randomBytes, randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { Clock } from "../runtime/clock.ts";

interface Timer {
  at: number;
  readonly run: () => void;
}

interface Interval {
  readonly ms: number;
  readonly run: () => void;
  elapsed: number;
}

/** A clock that stands still until a test moves it. */
export class FakeClock implements Clock {
  #now: number;
  readonly #timers = new Set<Timer>();
  readonly #intervals = new Set<Interval>();
  readonly #settled: () => Promise<void>;

  /** `settled` resolves when running code can do no more without time passing. */
  constructor(now = Date.UTC(2026, 0, 1), settled = rest) {
    this.#now = now;
    this.#settled = settled;
  }

  now(): number {
    return this.#now;
  }

  after(ms: number, run: () => void): () => void {
    const timer = { at: this.#now + ms, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  every(ms: number, run: () => void): () => void {
    const interval = { ms, run, elapsed: 0 };
    this.#intervals.add(interval);
    return () => this.#intervals.delete(interval);
  }

  randomBytes(size: number): Uint8Array {
    return randomBytes(size);
  }

  uniqueName(): string {
    return randomUUID();
  }

  /** Shows another time from now on, as a clock that is set does. Timers wait as long as before. */
  jump(ms: number): void {
    this.#now += ms;
    for (const timer of this.#timers) timer.at += ms;
  }

  get armed(): number {
    return this.#timers.size + this.#intervals.size;
  }

  /** Moves time forward, timer by timer, and lets what each one started settle. */
  async advance(ms: number): Promise<void> {
    await this.#settled(); // running code may still set a timer
    const end = this.#now + ms;
    for (;;) {
      const due = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
      const [next] = due;
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.run();
      await this.#settled();
    }
    this.#now = end;
    await this.#settled();
    for (const interval of this.#intervals) {
      interval.elapsed += ms;
      if (interval.elapsed < interval.ms) continue;
      interval.elapsed = 0;
      interval.run();
    }
    await this.#settled();
  }
}

/** Lets all code run that needs no time to pass. */
export async function rest(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await setImmediate();
}
