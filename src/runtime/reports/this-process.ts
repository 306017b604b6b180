import { monitorEventLoopDelay } from "node:perf_hooks";
import { hostname } from "node:os";
import { packageVersion } from "../../task/package.ts";
import type { ProcessReport } from "./process-report.ts";

/** Readings of the process itself for a report. */
export interface ProcessReadings {
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  memoryBytes(): number;
  /** The event loop delay since the last reading; null if nothing was measured. */
  loopDelay(): ProcessReport["loopDelay"];
  stop(): void;
}

/** How often the event loop is checked (ms): the time between two checks is measured. */
const resolution = 20;
const nsOfMs = 1e6;

/** Measures from now on until it is stopped. */
export function thisProcess(): ProcessReadings {
  const histogram = monitorEventLoopDelay({ resolution });
  histogram.enable();
  const late = (ns: number): number => Math.max(0, Math.round((ns / nsOfMs - resolution) * 10) / 10);
  return {
    host: hostname(),
    pid: process.pid,
    version: packageVersion,
    memoryBytes: () => process.memoryUsage.rss(),
    loopDelay() {
      if (histogram.count === 0) return null;
      const [p50, p99] = [late(histogram.percentile(50)), late(histogram.percentile(99))];
      const delay = { p50, p99, max: late(histogram.max) };
      histogram.reset();
      return delay;
    },
    stop: () => histogram.disable(),
  };
}
