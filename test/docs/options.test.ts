import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { describedOptions, pages, pageUrl, withTables } from "../../scripts/options.ts";
import { variableTables } from "../../src/env/variables.ts";

const tables = [...new Set([...[...pages.values()].flat(), ...variableTables])];

it.each([...pages.keys()])(
  "has the tables of options in %s.md; if not: npm run docs:options",
  async (name) => {
    const page = await readFile(pageUrl(name), "utf8");
    const made = await withTables(name, page);
    expect(page).toBe(made);
    for (const table of pages.get(name) ?? [])
      for (const option of table.rows.keys()) expect(made).toContain(`| \`${option}\` `);
  },
);

it("says in each comment, which editors show, the default that is used", () => {
  const options = tables.flatMap((table) => describedOptions(table));
  expect(options.length).toBeGreaterThan(100);
  for (const { name, row, meaning, default: said } of options) {
    expect([name, meaning]).toEqual([name, expect.stringMatching(/^[A-Z].*\.$/)]);
    if (row.default === undefined) continue;
    const used = row.kind.wordsOf(row.default);
    expect([name, said.slice(0, used.length)]).toEqual([name, used]);
  }
});
