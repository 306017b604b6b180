import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { sourceFiles } from "../source-files.ts";

/** Words of a sitting, by the pages that are read from their beginning; others are looked up. */
const sittings: readonly [pages: RegExp, words: number][] = [
  [/^docs\/(learn\/(?!guarantees\.md)|recipes\/|operate\/(?!environment\.md))/, 2_500],
  [/^docs\/operate\/runbooks\//, 900],
];

it.each(sittings)("has no page of %s that is longer than a sitting of %d words", async (which, most) => {
  const pages = [...(await sourceFiles("docs", [".md"]))].filter(([path]) => which.test(path));
  expect(pages.length).toBeGreaterThan(10);
  const words = pages.map(([path, text]) => ({ path, words: text.split(/\s+/).length }));
  expect(words.filter(({ words: count }) => count > most)).toEqual([]);
});

it.each(["npm ci && npm run demo", "npm ci && npm test"])(
  "shows in the README what a clone is tried with: %s",
  async (command) => {
    const root = new URL("../../", import.meta.url);
    const [readme, manifest] = await Promise.all(
      ["README.md", "package.json"].map((file) => readFile(new URL(file, root), "utf8")),
    );
    const { scripts } = JSON.parse(manifest ?? "") as { scripts: Record<string, string> };
    expect(readme).toContain(command);
    expect(scripts).toHaveProperty([command.split(" ").at(-1) ?? ""]);
  },
);
