import fc from "fast-check";
import { expect, it } from "vitest";
import {
  countDuration,
  durationAt,
  type DurationCounts,
} from "../../../src/runtime/reports/process-counts.ts";

function counted(durations: readonly number[]): DurationCounts {
  const counts: DurationCounts = new Map();
  for (const ms of durations) countDuration(counts, ms);
  return counts;
}

it("knows of each share how long it took, to within a tenth", () => {
  const durations = fc.array(fc.integer({ min: 0, max: 30 * 24 * 3_600_000 }), { minLength: 1 });
  fc.assert(
    fc.property(durations, fc.constantFrom(0.5, 0.95, 1), (all, share) => {
      const exact = all.toSorted((a, b) => a - b)[Math.ceil(all.length * share) - 1] ?? 0;
      const found = durationAt(counted(all), share) ?? NaN;
      expect(Math.abs(found - exact)).toBeLessThanOrEqual(exact * 0.1);
    }),
  );
});

it("knows nothing of no durations", () => {
  expect(durationAt(new Map(), 0.5)).toBeNull();
});

it("has few buckets for the longest durations that there are", () => {
  const counts = counted([-1, 0, 1, Number.MAX_SAFE_INTEGER]);
  expect(Math.max(...counts.keys())).toBeLessThan(250);
  expect(counts.get(0)).toBe(2);
});
