import { expect, test } from "vitest";
import { assertMembers } from "../../src/testing/store-case.ts";

test.each<[says: string, actual: unknown, expected: unknown]>([
  ["members that are not named do not matter", { a: 1, b: 2 }, { a: 1 }],
  ["at any depth", { a: { b: 1, c: 2 } }, { a: { b: 1 } }],
  ["in the elements of an array too", [{ a: 1, b: 2 }, { a: 3 }], [{ a: 1 }, { a: 3 }]],
  ["an empty array is one", { a: [] }, { a: [] }],
  ["null is a value", { a: null }, { a: null }],
])("%s", (_, actual, expected) => {
  expect(() => assertMembers(actual, expected)).not.toThrow();
});

test.each<[says: string, actual: unknown, expected: unknown]>([
  ["another value", { a: 1 }, { a: 2 }],
  ["a member that is missing", {}, { a: undefined }],
  ["a longer array", [{ a: 1 }, { a: 2 }], [{ a: 1 }]],
  ["a shorter array", [], [{ a: 1 }]],
  ["an array for an object", [], {}],
  ["an object for an array", {}, []],
  ["null for an object", null, {}],
  ["nothing for an object", undefined, { a: 1 }],
  ["a number as a text", { a: "1" }, { a: 1 }],
])("%s is a difference", (_, actual, expected) => {
  expect(() => assertMembers(actual, expected)).toThrow(/deep-equal/);
});
