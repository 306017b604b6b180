import { expect, test } from "vitest";
import { encodeJournalKey } from "../../src/task/journal.ts";

test("a text is its own key, an array is its JSON", () => {
  expect(encodeJournalKey("hash")).toBe("hash");
  expect(encodeJournalKey(["hash", "a.txt", 1])).toBe('["hash","a.txt",1]');
});

test("arrays that look alike are told apart", () => {
  const keys = [["a", "b"], ["a,b"], ["a", 1], ["a", "1"], ['a","b'], []].map(encodeJournalKey);
  expect(new Set(keys).size).toBe(keys.length);
});
