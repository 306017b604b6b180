import { systemClock, type Clock } from "../runtime/clock.ts";
import type { FakeClock } from "./fake-clock.ts";

/** The clock of one process, whose timers end with it. */
export class ProcessClock implements Clock {
  readonly #clock: FakeClock;
  readonly #timers = new Set<() => void>();
  #ended = false;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now();
  }

  after(ms: number, run: () => void, keepAlive?: "keep alive"): () => void {
    // Only an orderly stop keeps its process alive. It waits for handlers, and the test does not move time meanwhile.
    if (keepAlive !== undefined) return systemClock.after(ms, run, keepAlive);
    return this.#kept((ended) => {
      const over = (): void => {
        ended();
        run();
      };
      if (ms > 0) return this.#clock.after(ms, over);
      const now = setImmediate(over); // due timers take no time
      return () => clearImmediate(now);
    });
  }

  every(ms: number, run: () => void): () => void {
    return this.#kept(() => this.#clock.every(ms, run));
  }

  randomBytes(size: number): Uint8Array {
    return this.#clock.randomBytes(size);
  }

  uniqueName(): string {
    return this.#clock.uniqueName();
  }

  /** The process is gone: none of its timers fire any more. */
  end(): void {
    this.#ended = true;
    for (const callOff of this.#timers) callOff();
    this.#timers.clear();
  }

  #kept(arm: (ended: () => void) => () => void): () => void {
    if (this.#ended) return () => undefined;
    const disarm = arm(() => this.#timers.delete(callOff));
    const callOff = (): void => {
      disarm();
      this.#timers.delete(callOff);
    };
    this.#timers.add(callOff);
    return callOff;
  }
}
