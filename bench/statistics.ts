/** The value below which that part of the sorted values lies. */
function quantile(sorted: ArrayLike<number>, part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

export function percentile(values: readonly number[], part: number): number {
  return quantile(Float64Array.from(values).sort(), part);
}

export function median(values: readonly number[]): number {
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length / 2;
  return (quantile(sorted, 0.5) + (sorted[Math.ceil(middle) - 1] ?? Number.NaN)) / 2;
}
