import assert from "node:assert/strict";

/**
 * Asserts that `actual` has the members that `expected` names, at every depth. Arrays must have the same length; anything but an object
 * must be equal. (Node's own `partialDeepStrictEqual` is experimental in Node 22.)
 */
export function assertMembers(actual: unknown, expected: unknown): void {
  assert.deepStrictEqual(onlyMembersOf(expected, actual), expected);
}

/** `actual` without the members that `expected` lacks, so that a failure shows only what matters. */
function onlyMembersOf(expected: unknown, actual: unknown): unknown {
  if (isArray(expected) && isArray(actual)) {
    return actual.map((element, index) =>
      index in expected ? onlyMembersOf(expected[index], element) : element,
    );
  }
  if (!isObject(expected) || !isObject(actual) || isArray(actual)) return actual;
  const named = Object.keys(expected).filter((name) => Object.hasOwn(actual, name));
  return Object.fromEntries(named.map((name) => [name, onlyMembersOf(expected[name], actual[name])]));
}

function isArray(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
