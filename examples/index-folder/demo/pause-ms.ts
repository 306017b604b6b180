import { readsAtOnce } from "../index-folder.ts";

const wholeMs = 5_000;
const longestMs = 400;

/** How long the demo's server rests with each of `total` files, so that one can watch, and kill it half-way. */
export function pauseMs(total: number): number {
  return Math.min(longestMs, Math.ceil((wholeMs * readsAtOnce) / Math.max(total, 1)));
}
