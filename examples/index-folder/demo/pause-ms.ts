import { readsAtOnce } from "../index-folder.ts";

const wholeMs = 5_000;
const longestMs = 400;

/** How long the demo's server spends on each of `total` files on average: long enough to watch, and to kill it halfway. */
export function pauseMs(total: number): number {
  return Math.min(longestMs, Math.ceil((wholeMs * readsAtOnce) / Math.max(total, 1)));
}

/** The pause of the nth read. They differ, so that reads that begin together do not end together. */
export function nthPauseMs(total: number, n: number): number {
  return pauseMs(total) * (0.5 + (n % readsAtOnce) / readsAtOnce);
}
