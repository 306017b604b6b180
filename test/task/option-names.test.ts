import { expect, test } from "vitest";
import { namesProblem } from "../../src/task/option-names.ts";

const known = { ttlMs: true, task: true, port: true, maxSessions: true };

test.each([
  ["ttl", "ttlMs"],
  ["TTLMS", "ttlMs"],
  ["tasks", "task"],
  ["prot", "port"],
  ["sessions", "maxSessions"],
])("%s is taken for %s", (given, meant) => {
  expect(namesProblem("It", { [given]: 1 }, Object.keys(known))).toBe(
    `It has no option ${JSON.stringify(given)}. Did you mean ${meant}?`,
  );
});

test.each(["colour", "x", "constructor"])("nothing is like %s", (given) => {
  expect(namesProblem("It", { [given]: 1 }, Object.keys(known))).toBe(
    `It has no option ${JSON.stringify(given)}.`,
  );
});

test.each([
  [null, "null"],
  ["text", "a string"],
  [[], "an array"],
])("%j is no object of options", (given, name) => {
  expect(namesProblem("It", given, Object.keys(known))).toBe(
    `It takes its options as an object, not ${name}.`,
  );
});

test("options that are there are fine, and so are none", () => {
  expect(namesProblem("It", { ttlMs: undefined, port: 1 }, Object.keys(known))).toBeUndefined();
  expect(namesProblem("It", {}, Object.keys(known))).toBeUndefined();
});
