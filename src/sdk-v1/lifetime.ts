import { defaultOptions } from "../runtime/options.ts";
import { latestTime } from "../task/time.ts";

/**
 * The ttl that a task gets, in ms (C-103): what was asked for, or the default, within the limits. null is without end.
 */
export function lifetimeOf(
  asked: number | null | undefined,
  { ttlMs, maxTtlMs }: { readonly ttlMs: number | null; readonly maxTtlMs: number | null },
): number | null {
  const ttl = asked === undefined ? ttlMs : asked;
  const longest = maxTtlMs ?? latestTime;
  // What is not even a number says nothing about an end, hence gets the longest life that there is.
  if (ttl === null || Number.isNaN(ttl)) return maxTtlMs;
  return Math.min(Math.max(Math.ceil(ttl), defaultOptions.minTtlMs), longest);
}
