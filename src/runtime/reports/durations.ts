/** The ratio between the limits of adjacent buckets, which makes results accurate to within a tenth. */
const step = 1.19;
const logOfStep = Math.log(step);

/** Durations (ms), counted in buckets of a logarithmic scale: bucket number to count. */
export type DurationCounts = Map<number, number>;

/** The first bucket is for durations below a millisecond, the second for those of one. */
export function countDuration(counts: DurationCounts, ms: number): void {
  const bucket = ms < 1 ? 0 : 1 + Math.ceil(Math.log(ms) / logOfStep);
  counts.set(bucket, (counts.get(bucket) ?? 0) + 1);
}

/** The duration (ms) at percentile `share`; null if none was counted. */
export function durationAt(counts: ReadonlyMap<number, number>, share: number): number | null {
  const buckets = [...counts].sort(([a], [b]) => a - b);
  const all = buckets.reduce((sum, [, count]) => sum + count, 0);
  let passed = 0;
  for (const [bucket, count] of buckets) {
    passed += count;
    if (passed >= all * share) return middleOf(bucket);
  }
  return null;
}

function middleOf(bucket: number): number {
  return bucket < 2 ? bucket : Number((step ** (bucket - 1.5)).toPrecision(3));
}
