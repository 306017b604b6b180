import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { sourceFiles } from "../source-files.ts";
import { readFacts, renderCompatibility } from "../../scripts/compatibility.ts";

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

const root = new URL("../../", import.meta.url);
const read = (path: string): Promise<string> => readFile(new URL(path, root), "utf8");

async function manifest(path: string): Promise<Manifest> {
  return JSON.parse(await read(path)) as Manifest;
}

const facts = await readFacts();

it("the page is what was recorded of the peers; if not: npm run docs:compatibility", async () => {
  expect(await read("docs/reference/compatibility.md")).toBe(await renderCompatibility(facts));
});

it("was recorded with the versions that are pinned; if not: npm run test:peers -- -u", async () => {
  const [clients, ours] = [await manifest("test/peers/clients/package.json"), await manifest("package.json")];
  const pins = { ...ours.dependencies, ...ours.devDependencies, ...clients.dependencies };
  const named = facts.map((each) => [each.package, each.version]);
  expect(named).toEqual(named.map(([name = ""]) => [name, pins[name]]));
});

it("has every peer that is pinned", async () => {
  const { dependencies = {} } = await manifest("test/peers/clients/package.json");
  const named = new Set(facts.map((each) => each.package));
  // What these peers bring their tools and schemas with.
  const companions = ["@langchain/core", "@langchain/langgraph", "@mastra/core", "zod"];
  expect(Object.keys(dependencies).filter((name) => !named.has(name))).toEqual(companions);
});

it("says only what a test of the peers has as its title; if not: npm run test:peers -- -u", async () => {
  const sources = await sourceFiles("test/peers", [".test.ts"]);
  const tests = [...sources.values()].join("\n");
  const said = facts.flatMap(({ works, lacks }) => [...works, ...lacks.map(({ what }) => what)]);
  expect(said.filter((title) => !tests.includes(`"${title}"`))).toEqual([]);
});
