import type { Clock } from "./clock.ts";

const firstMs = 1_000;
const longestMs = 60_000;

/**
 * The pause after the `failures`-th failure in a row, in ms: 1 s, doubling to 60 s, of which a random half is taken
 * off, so that things that failed together do not come back together.
 */
export function retryDelay(failures: number, clock: Clock): number {
  const full = Math.min(firstMs * 2 ** (failures - 1), longestMs);
  const [random = 0, more = 0] = clock.randomBytes(2);
  return Math.round(full * (1 - (random * 256 + more) / 131_072));
}
