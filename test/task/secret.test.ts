import { expect, test } from "vitest";
import { pruned, rotated, secretAt, settledAt, untilUsedMs } from "../../src/task/secret.ts";

const value = (fill: number): string => Buffer.alloc(32, fill).toString("base64url");
const hour = 3_600_000;
const now = 1_000_000;
/** The numbers that the versions are filled with, the current one first. */
const at = (text: string, time: number): number[] => {
  const { current, accepted } = secretAt(text, time);
  expect(accepted[0]).toEqual(current);
  return accepted.map((bytes) => bytes[0] ?? 0);
};

test("a new version is accepted before it is used, and the earlier one after that, for as long as was said", () => {
  const text = rotated(value(1), value(2), now, hour);
  expect(at(text, now)).toEqual([1, 2]);
  expect(at(text, now + untilUsedMs)).toEqual([2, 1]);
  const end = settledAt(text) ?? 0;
  expect(at(text, end - 1)).toEqual([2, 1]);
  expect(at(text, end)).toEqual([2]);
  expect([pruned(text, end - 1), at(pruned(text, end), end)]).toEqual([text, [2]]);
});

test("further versions end no earlier one later than it was to end", () => {
  const second = rotated(value(1), value(2), now, hour);
  const third = rotated(second, value(3), now + untilUsedMs, 9 * hour);
  expect(at(third, now + 2 * untilUsedMs)).toEqual([3, 2, 1]);
  const end = settledAt(second) ?? 0;
  expect(at(third, end)).toEqual([3, 2]);
  expect(at(rotated(third, value(4), end, hour), end)).toEqual([3, 4, 2]);
});

test("with no time for the earlier versions, the new one alone counts at once", () => {
  const text = rotated(rotated(value(1), value(2), now, hour), value(3), now, 0);
  expect([text, settledAt(text), at(text, now)]).toEqual([value(3), null, [3]]);
});
