import assert from "node:assert/strict";
import type { RecordedEntry } from "../store/export-journal.ts";

/**
 * What a journal must contain. A list: exactly these keys, in the order in which they began. An object: these keys with their results,
 * whatever else there is; `undefined` for a step that returned nothing.
 */
export type ExpectedJournal = readonly string[] | Readonly<Record<string, unknown>>;

/** Throws an `AssertionError` that says how the journal differs. */
export function assertJournal(entries: readonly RecordedEntry[], expected: ExpectedJournal): void {
  const keys = entries.map(({ key }) => key);
  if (isList(expected)) {
    assert.deepEqual(keys, expected, `The journal has ${listed(keys)}, and not ${listed(expected)}.`);
    return;
  }
  for (const [key, value] of Object.entries(expected)) {
    const entry = entries.find((candidate) => candidate.key === key);
    assert.ok(entry !== undefined, `The journal has no "${key}". It has ${listed(keys)}.`);
    assert.notEqual(entry.doneAt, null, `"${key}" has not ended.`);
    assert.equal(entry.error, undefined, `"${key}" failed: ${JSON.stringify(entry.error)}`);
    assert.deepEqual(
      entry.value,
      value,
      `"${key}" ended with ${JSON.stringify(entry.value)}, and not with ${JSON.stringify(value)}.`,
    );
  }
}

function isList(expected: ExpectedJournal): expected is readonly string[] {
  return Array.isArray(expected);
}

function listed(keys: readonly string[]): string {
  return keys.length === 0 ? "nothing" : keys.map((key) => JSON.stringify(key)).join(", ");
}
