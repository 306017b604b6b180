import { storable } from "../task/time.ts";

/**
 * The first whole epoch millisecond by which `ms` milliseconds have passed, or the latest time that stores can hold. They hold no
 * fractions.
 */
export function deadlineAfter(now: number, ms: number): number {
  return storable(Math.ceil(now + ms));
}

/** Throws unless `ms` is a number of milliseconds from 0. */
export function assertDuration(ms: number): void {
  if (!Number.isFinite(ms) || ms < 0) throw new RangeError(`Not a duration in milliseconds: ${ms}`);
}
