import { expect, it } from "vitest";
import { wrapped, wrappedNote } from "../../../src/cli/output/table.ts";

it.each([
  ["one two three four five six", 0, 21, "one two three four\nfive six"],
  ["one two three four five six", 2, 21, "  one two three four\n  five six"],
  ["x".repeat(45), 0, 21, `${"x".repeat(20)}\n${"x".repeat(20)}\n${"x".repeat(5)}`],
  ["a\nb\u001b[2J", 1, 80, " a\n b"],
  ["long ".repeat(30), 0, undefined, "long ".repeat(30).trimEnd()],
])("%j behind %d cells on %s columns", (text, indent, cells, expected) => {
  expect(wrapped(text, indent, cells)).toBe(expected);
});

it.each([
  ["one two three four five six", 21, "one two three four\nfive six"],
  [`go to ${"x".repeat(30)} and on`, 21, `go to\n${"x".repeat(30)}\nand on`],
  [`with:\n  holdfast watch ${"x".repeat(30)}`, 21, `with:\n  holdfast watch ${"x".repeat(30)}`],
])("the note %j on %d columns", (text, cells, expected) => {
  expect(wrappedNote(text, cells)).toBe(expected);
});
