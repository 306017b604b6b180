import { expect, test } from "vitest";
import { shortName, taskId } from "../../src/task/record-changes.ts";

const bytes = (fill: number) => (size: number) => new Uint8Array(size).fill(fill);
const now = Date.UTC(2026, 10, 1);

test("34 characters that need no escape in a URL", () => {
  for (const fill of [0, 0xfb, 0xff]) expect(taskId(now, bytes(fill))).toMatch(/^[0-9a-f]{12}[\w-]{22}$/);
});

test("ids sort by age, whatever their random part", () => {
  const times = [0, 1, 255, 4096, now, now + 1, 2 ** 47];
  const ids = times.map((time, index) => taskId(time, bytes(index % 2 === 0 ? 0xff : 0)));
  expect(ids.toSorted()).toEqual(ids);
});

test("all 128 random bits are in it", () => {
  const ids = new Set<string>();
  for (let bit = 0; bit < 128; bit++) {
    ids.add(
      taskId(now, (size) => {
        const random = new Uint8Array(size);
        random[bit >> 3] = 1 << (bit & 7);
        return random;
      }),
    );
  }
  expect(ids.size).toBe(128);
});

test("a clock before 1970 or between two milliseconds makes an id all the same", () => {
  expect(taskId(-5, bytes(0))).toBe(taskId(0, bytes(0)));
  expect(taskId(now + 0.7, bytes(0))).toBe(taskId(now, bytes(0)));
});

test("a short name can be an argument of a command, and the name of a file", () => {
  for (const fill of [0, 0xfb, 0xff])
    expect(shortName({ randomBytes: bytes(fill) })).toMatch(/^[A-Za-z][\w-]{15}$/);
});
