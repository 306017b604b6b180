import { sameJson } from "../../src/generation/message.ts";
import { expect, it } from "vitest";

it.each<[unknown, unknown]>([
  [1, 1],
  [null, null],
  ["a", "a"],
  [
    { a: 1, b: [1, { c: null }] },
    { b: [1, { c: null }], a: 1 },
  ],
  [{ a: undefined }, {}],
  [undefined, undefined],
])("%j is the same as %j", (one, other) => {
  expect(sameJson(one, other)).toBe(true);
});

it.each<[unknown, unknown]>([
  [1, "1"],
  [null, undefined],
  [{}, null],
  [[], {}],
  [{ length: 0 }, []],
  [[1], [1, 2]],
  [{ a: 1 }, { b: 1 }],
  [{ a: null }, {}],
  [{ a: [1] }, { a: [2] }],
])("%j differs from %j", (one, other) => {
  expect(sameJson(one, other)).toBe(false);
  expect(sameJson(other, one)).toBe(false);
});
