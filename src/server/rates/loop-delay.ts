import { monitorEventLoopDelay } from "node:perf_hooks";

/** How late the event loop is, in ms: of the last second, the ninth tenth. */
export type LoopDelay = () => number;

const windowMs = 1_000;

export function loopDelay(now: () => number): LoopDelay {
  const histogram = monitorEventLoopDelay({ resolution: 20 });
  histogram.enable();
  let delay = 0;
  let since = now();
  return () => {
    if (now() - since < windowMs) return delay;
    delay = histogram.percentile(90) / 1e6;
    histogram.reset();
    since = now();
    return delay;
  };
}
