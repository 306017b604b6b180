import { expect, it } from "vitest";
import { fittedTable, type Column } from "../../../src/cli/output/table.ts";

const columns: readonly Column<readonly [string, number, string]>[] = [
  ["NAME", 4, ([name]) => name],
  ["COUNT", 5, ([, count]) => count, "right"],
  ["TEXT", 6, ([, , text]) => text],
];
const rows = [
  ["export_report", 12, "a text that is rather long"],
  ["東京", 3, "line\nbreak\u001b[31m"],
] as const;

it("has room for all of it where the terminal has", () => {
  expect(fittedTable(columns, rows, 60)).toBe(
    [
      "NAME           COUNT  TEXT",
      "export_report     12  a text that is rather long",
      "東京               3  line break",
      "",
    ].join("\n"),
  );
});

it("cuts the last column first, and then the widest, down to the least", () => {
  expect(fittedTable(columns, rows, 34)).toContain("\nexport_report     12  a text tha…\n");
  expect(fittedTable(columns, rows, 24)).toContain("\nexport_…     12  a tex…\n");
  expect(fittedTable(columns, rows, 5)).toContain("\nexp…     12  a tex…\n");
});

it("is made of tabs for programs", () => {
  expect(fittedTable(columns, rows, undefined)).toBe(
    "export_report\t12\ta text that is rather long\n東京\t3\tline break\n",
  );
});
