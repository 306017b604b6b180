import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SortedSet } from "../../../src/store/memory/sorted-set.ts";

const numbers = () => new SortedSet<number>((a, b) => a - b);

describe("SortedSet", () => {
  test("behaves as a sorted array without doubles", () => {
    const step = fc.record({ add: fc.boolean(), entry: fc.nat(1000) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 3000 }), fc.nat(1000), (steps, start) => {
        const set = numbers();
        const model = new Set<number>();
        for (const { add, entry } of steps) {
          if (add) set.add(entry);
          else set.delete(entry);
          if (add) model.add(entry);
          else model.delete(entry);
        }
        const sorted = [...model].toSorted((a, b) => a - b);
        expect([...set.from(-1)]).toEqual(sorted);
        expect([...set.from(start)]).toEqual(sorted.filter((entry) => entry >= start));
        const falling = sorted.toReversed();
        expect([...set.below(null)]).toEqual(falling);
        expect([...set.below(1001)]).toEqual(falling);
        expect([...set.below(start)]).toEqual(falling.filter((entry) => entry < start));
        expect(set.first()).toBe(sorted[0]);
      }),
      { numRuns: 50 },
    );
  });

  test.each([
    ["rising", (index: number) => index],
    ["falling", (index: number) => -index],
    ["scattered", (index: number) => (index * 7919) % 5000],
  ])("stays in order over many %s entries, and empties", (_, entryAt) => {
    const set = numbers();
    const entries = Array.from({ length: 5000 }, (__, index) => entryAt(index));
    for (const entry of entries) set.add(entry);
    expect([...set.from(-Infinity)]).toEqual(entries.toSorted((a, b) => a - b));
    for (const entry of entries) set.delete(entry);
    expect([...set.from(-Infinity)]).toEqual([]);
    expect([...set.below(null), ...set.below(1)]).toEqual([]);
    expect(set.first()).toBeUndefined();
    set.add(1);
    expect([...set.from(1)]).toEqual([1]);
  });

  test("adding twice and deleting what is absent change nothing", () => {
    const set = numbers();
    set.delete(1);
    set.add(2);
    set.add(2);
    set.delete(1);
    set.delete(3);
    expect([...set.from(0)]).toEqual([2]);
  });
});
