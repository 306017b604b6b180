/** How much longer than the ones of the bucket before the durations of a bucket may be: what is read of them is right to within a tenth. */
const step = 1.19;
const logOfStep = Math.log(step);

/** Durations (ms) are counted in buckets of a log scale: so many are in the bucket of a number. */
export type DurationCounts = Map<number, number>;

/** The first bucket has what took less than a millisecond, the second one what took one. */
export function countDuration(counts: DurationCounts, ms: number): void {
  const bucket = ms < 1 ? 0 : 1 + Math.ceil(Math.log(ms) / logOfStep);
  counts.set(bucket, (counts.get(bucket) ?? 0) + 1);
}

/** A duration (ms) than which the part `share` of those that were counted took no longer; null where none was. */
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
