import fc from "fast-check";
import { expect, it } from "vitest";
import { childInputKey, childInputOf, type ChildInput, encodeJournalKey } from "../../src/task/journal.ts";

it("names each question of each task by a key of its own", () => {
  const input = fc.record({ taskId: fc.string(), key: fc.string() });
  const isNamed = (named: ChildInput): boolean => {
    expect(childInputOf(childInputKey(named))).toEqual(named);
    return true;
  };
  fc.assert(fc.property(input, isNamed));
});

it("takes no other key for one, whatever a client sends", () => {
  const isNone = (key: string): boolean => childInputOf(key) === undefined;
  fc.assert(fc.property(fc.string(), isNone));
  fc.assert(fc.property(fc.json(), isNone));
  const keys = [
    ["holdfast/call"],
    ["holdfast/call", "a"],
    ["holdfast/call", "a", 1],
    ["holdfast/call", "a", "b", "c"],
  ];
  for (const key of keys) expect(childInputOf(encodeJournalKey(key))).toBeUndefined();
  for (const key of ['["holdfast/call",', '["holdfast/call","a","b"', '["holdfast/call",{},"b"]'])
    expect(childInputOf(key)).toBeUndefined();
});
