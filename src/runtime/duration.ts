/**
 * The first whole epoch millisecond by which `ms` milliseconds have passed: stores hold no parts of one, and no time that is
 * later than numbers are exact.
 */
export function deadlineAfter(now: number, ms: number): number {
  return Math.min(Math.ceil(now + ms), Number.MAX_SAFE_INTEGER);
}

/** Throws for what is no number of milliseconds from 0 on. */
export function assertDuration(ms: number): void {
  if (!Number.isFinite(ms) || ms < 0) throw new RangeError(`Not a duration in milliseconds: ${ms}`);
}
