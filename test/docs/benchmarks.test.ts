import { readdir, readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import type { Line } from "../../bench/scale/chart.ts";
import type { KeptBench } from "../../bench/report.ts";
import { bends, benchmarksUrl, chartsUrl, limits, renderBenchmarks } from "../../scripts/benchmarks.ts";

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

it("says of each cost that grows with the size why", async () => {
  const kept = await readFile(new URL("../../bench/results/scale.json", import.meta.url), "utf8");
  const lines = JSON.parse(kept) as readonly Line[];
  const grown = lines.filter(({ points }) => points.some(({ ratio }) => ratio > 1.2));
  expect(Object.keys(bends)).toEqual(expect.arrayContaining(grown.map(({ name }) => name)));
});

it("has figures in the guide to operations that the benches measured", async () => {
  const read = (path: string): Promise<string> => readFile(new URL(`../../${path}`, import.meta.url), "utf8");
  const guide = await read("docs/operate/operations.md");
  const { figures } = JSON.parse(await read("bench/results/server.json")) as KeptBench;
  const said = [
    ["lives", /some ([\d,]+) whole lives of tasks a second/],
    ["parked-memory", /([\d.]+) MiB for 100,000 tasks/],
    ["journal-memory", /([\d.]+) MiB for a replayed journal/],
  ] as const;
  for (const [name, form] of said) {
    const figure = figures.find((each) => each.name === name);
    const measured = figure !== undefined && "measured" in figure ? figure.measured : Number.NaN;
    const ratio = Number(form.exec(guide)?.[1]?.replace(",", "")) / measured;
    // Runs of a busy machine differ by as much.
    expect(ratio, `${name} is ${measured}`).toBeGreaterThan(0.6);
    expect(ratio, `${name} is ${measured}`).toBeLessThan(1.6);
  }
});
