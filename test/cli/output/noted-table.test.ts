import { expect, it } from "vitest";
import { type Column, notedTable } from "../../../src/cli/output/table.ts";

const columns: readonly Column<readonly string[]>[] = [
  ["NAME", 4, ([name]) => name],
  ["WHY", 6, ([, why]) => why],
];

it("has what is too long for its row below it, whole", () => {
  const rows = [
    ["first", "short"],
    ["second", "a reason that takes more than one line of the terminal"],
    ["third", ""],
  ];
  expect(notedTable(columns, rows, 40)).toBe(
    [
      "NAME    WHY",
      "first   short",
      "second",
      "      a reason that takes more than one",
      "      line of the terminal",
      "third",
      "",
    ].join("\n"),
  );
  expect(notedTable(columns, rows, undefined)).toContain("second\ta reason that takes more than one line");
});
