import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = new URL("../../", import.meta.url);
const here = fileURLToPath(new URL("./", import.meta.url));
const read = (path: string): string => readFileSync(new URL(path, root), "utf8");

/** Every test that the table names: its file, and its title as the file spells it. */
const named = [...read("test/traps/README.md").matchAll(/\| `(test\/[^`]+)`: (.+?) *\|$/gm)].map(
  ([, file = "", title = ""]) => [file, title] as const,
);

test("the table names tests", () => {
  expect(named.length).toBeGreaterThan(25);
});

test.each(named)("%s has the test that the table names: %s", (file, title) => {
  const source = read(file);
  const spellings = ['"', "'", "`"].map((quote) => `${quote}${title}`);
  expect(spellings.some((spelling) => source.includes(spelling))).toBe(true);
});

test("every test file of the folder is in the table", () => {
  const files = readdirSync(here).filter((name) => name.endsWith(".test.ts") && name !== "readme.test.ts");
  const inTable = new Set(named.map(([file]) => file.replace("test/traps/", "")));
  expect(files.filter((name) => !inTable.has(name))).toEqual([]);
});
