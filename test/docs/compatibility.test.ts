import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { misbehaviours } from "../peers/misbehaviour/misbehaviours.ts";
import { outcomes, type Outcome } from "../peers/misbehaviour/outcomes.ts";
import { sourceFiles } from "../source-files.ts";
import { readFacts, readMisbehaviour, renderCompatibility } from "../../scripts/compatibility.ts";

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
const misbehaviour = await readMisbehaviour();

it("the page is what was recorded of the peers; if not: npm run docs:compatibility", async () => {
  expect(await read("docs/reference/compatibility.md")).toBe(await renderCompatibility(facts, misbehaviour));
});

it("was recorded with the versions that are pinned; if not: npm run test:peers -- -u, and npm run record:misbehaviours", async () => {
  const [clients, ours] = [await manifest("test/peers/clients/package.json"), await manifest("package.json")];
  const pins = { ...ours.dependencies, ...ours.devDependencies, ...clients.dependencies };
  const named = [...facts, ...misbehaviour.clients].map((each) => [each.package, each.version]);
  expect(named).toEqual(named.map(([name = ""]) => [name, pins[name]]));
});

it("has every peer that is pinned", async () => {
  const { dependencies = {} } = await manifest("test/peers/clients/package.json");
  const named = new Set([...facts, ...misbehaviour.clients].map((each) => each.package));
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

/** How far from the best, where the best is 0. */
const rank = (outcome: Outcome): number => outcomes.indexOf(outcome);
const areOurs = (name: string): boolean => name.startsWith("Holdfast");

/** Where a client of others does better than one of ours, and why it stays so. */
const exceptions: Readonly<Record<string, string>> = {};

it("has every misbehaviour; if not: npm run record:misbehaviours", () => {
  const named = new Set(misbehaviour.rows.map(({ fault, over }) => `${fault}, ${over}`));
  const wanted = misbehaviours.flatMap(({ name }) => [`${name}, stdio`, `${name}, HTTP`]);
  expect(named).toEqual(new Set(wanted));
});

it("has no misbehaviour that ours treat worse than the best of the others", () => {
  const worse = misbehaviour.rows.flatMap(({ fault, over, saw }) => {
    const all = Object.entries(saw);
    const best = Math.min(...all.flatMap(([name, { outcome }]) => (areOurs(name) ? [] : rank(outcome))));
    const ours = all.filter(([name]) => areOurs(name));
    expect(ours.length).toBeLessThan(all.length);
    return ours
      .filter(([, { outcome }]) => rank(outcome) > best)
      .map(([name]) => `${fault} (${over}, ${name})`);
  });
  expect(worse).toEqual(Object.keys(exceptions));
});
