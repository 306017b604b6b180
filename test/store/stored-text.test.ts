import * as fc from "fast-check";
import { expect, test } from "vitest";
import { fromStored, toStored } from "../../src/store/row.ts";

/** All that JavaScript calls a string, halves of surrogate pairs and noncharacters included. */
const anyText = fc.string({
  unit: fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom("\ud800", "\udfff", "\ufffe", "\u0000", '"', "\\"),
  ),
});

test("every text comes back, through a form that UTF-8 can carry", () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const stored = toStored(text);
      expect(stored.isWellFormed()).toBe(true);
      expect(stored).not.toContain("\0");
      expect(Buffer.from(stored, "utf8").toString("utf8")).toBe(stored);
      expect(fromStored(stored)).toBe(text);
    }),
  );
});

test("ordinary text is stored as it is", () => {
  for (const text of ["", '{"a":"\\ud800"}', "🙂", "a\ufffe"]) expect(toStored(text)).toBe(text);
});

test("no two texts share a form", () => {
  const texts = ["a", "a\u0000b", "\ud800", "\udfff", "\ufffd", "\ufffe", toStored("\ud800")];
  expect(new Set(texts.map(toStored)).size).toBe(texts.length);
});
