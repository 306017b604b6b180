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
