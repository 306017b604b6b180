import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { schemaPages, schemaPageUrl } from "../../scripts/schema-pages.ts";
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

it("has the pages of the admin API and of the file of tools; if not: npm run docs:schemas", async () => {
  for (const [name, made] of await schemaPages())
    expect(await readFile(schemaPageUrl(name), "utf8")).toBe(made);
});
