/** Computes for this long, and does nothing else. */
export function compute(ms: number): number {
  let rounds = 0;
  for (const end = performance.now() + ms; performance.now() < end; rounds++);
  return rounds;
}
