import { furthest } from "../../task/progress.ts";
import type { Progress } from "../../task/record.ts";
import type { Timers } from "../timers.ts";
import type { Clock } from "../clock.ts";

/** Each report is a durable write; a handler may report as often as it likes. */
const pauseMs = 100;

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
