import { readdir, readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { benchmarksUrl, chartsUrl, limits, renderBenchmarks } from "../../scripts/benchmarks.ts";

it("has the page of benchmarks, made from what they kept; if not: npm run docs:bench", async () => {
  const { page, charts } = await renderBenchmarks();
  expect(await readFile(benchmarksUrl, "utf8")).toBe(page);
  expect((await readdir(chartsUrl)).toSorted()).toEqual([...charts.keys()].toSorted());
  for (const [name, svg] of charts) expect(await readFile(new URL(name, chartsUrl), "utf8")).toBe(svg);
});

it("says of each figure that does not reach its goal why", async () => {
  const { page } = await renderBenchmarks();
  const short = page
    .slice(page.indexOf("## What does not reach its goal"))
    .matchAll(/^\| `(?<name>[\w -]+)`/gm);
  const names = [...short].map(({ groups }) => groups?.["name"] ?? "");
  expect(names).not.toEqual([]);
  for (const name of names) expect(limits).toHaveProperty(name, expect.stringMatching(/^[A-Z].*\.$/));
});
