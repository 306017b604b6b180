import { availableParallelism } from "node:os";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Pace } from "./pace.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("a deadline comes later where others want to run too, or this process does not get to run", () => {
  let wanting = 1;
  using pace = new Pace(() => wanting * availableParallelism());
  const over: string[] = [];
  const since = Date.now();
  pace.after(1_000, () => over.push("alone"));
  vi.advanceTimersByTime(1_000);
  expect(over).toEqual(["alone"]);
  wanting = 4;
  pace.after(1_000, () => over.push("among others"));
  pace.after(1_000, () => over.push("never"))();
  vi.advanceTimersByTime(3_900);
  expect(over).toEqual(["alone"]);
  vi.advanceTimersByTime(100);
  expect(over).toEqual(["alone", "among others"]);
  expect(pace.wasSlow({ since, until: since + 900 })).toBe(false);
  expect(pace.wasSlow({ since: since + 2_000, until: since + 3_000 })).toBe(true);
  wanting = 1;
  const before = pace.ms;
  vi.setSystemTime(Date.now() + 60_000);
  vi.advanceTimersByTime(100);
  expect(pace.ms - before).toBe(200);
});
