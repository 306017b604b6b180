import { monitorEventLoopDelay } from "node:perf_hooks";

/** The delay of the event loop in ms: the 90th percentile of the last second. */
export type LoopDelay = () => number;

const windowMs = 1_000;

export function loopDelay(elapsed: () => number): LoopDelay {
  const histogram = monitorEventLoopDelay({ resolution: 20 });
  histogram.enable();
  let delay = 0;
  let since = elapsed();
  return () => {
    if (elapsed() - since < windowMs) return delay;
    delay = histogram.percentile(90) / 1e6;
    histogram.reset();
    since = elapsed();
    return delay;
  };
}
