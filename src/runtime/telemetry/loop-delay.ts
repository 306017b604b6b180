import { monitorEventLoopDelay } from "node:perf_hooks";
import type { LoopDelay } from "./metrics.ts";

const nsOfMs = 1e6;

/** Measures the event loop delay from now on until it is stopped. Each reading starts a new measurement. */
export class LoopDelays {
  readonly #histogram = monitorEventLoopDelay();

  constructor() {
    this.#histogram.enable();
  }

  read(): LoopDelay | undefined {
    const histogram = this.#histogram;
    if (histogram.count === 0) return undefined;
    const ms = (ns: number): number => ns / nsOfMs;
    const delay = {
      min: ms(histogram.min),
      max: ms(histogram.max),
      mean: ms(histogram.mean),
      p50: ms(histogram.percentile(50)),
      p90: ms(histogram.percentile(90)),
      p99: ms(histogram.percentile(99)),
    };
    histogram.reset();
    return delay;
  }

  stop(): void {
    this.#histogram.disable();
  }
}
