/** Throws for what is no number of milliseconds from 0 on. */
export function assertDuration(ms: number): void {
  if (!Number.isFinite(ms) || ms < 0) throw new RangeError(`Not a duration in milliseconds: ${ms}`);
}
