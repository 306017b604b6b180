import { describe, expect, it } from "vitest";
import { sourceFiles } from "../source-files.ts";
import { citedIds, provenIds } from "./coverage.ts";
import { declined } from "./declined.ts";
import { decisions } from "./decisions.ts";
import { undriven, requirements, sidesFor, sidesOf, type Side } from "./sides.ts";

const requirementIds = requirements.map((requirement) => requirement.id);
const decisionIds = decisions.map((decision) => decision.id);
const known = new Set<string>([...requirementIds, ...decisionIds]);

describe("the registry", () => {
  it("gives every row an id of its own", () => {
    expect(known.size).toBe(requirementIds.length + decisionIds.length);
  });

  it("forms every id alike", () => {
    for (const id of requirementIds) expect(id).toMatch(/^(X(-[PB])?|C(-[DP])?|S(-P)?|B(-P)?)-\d{3}$/);
    for (const id of decisionIds) expect(id).toMatch(/^A-\d{2}$/);
  });

  it("says something in every row", () => {
    const texts = [...requirements.map((row) => row.text), ...decisions.map((row) => row.decision)];
    for (const text of texts) expect(text).toMatch(/^\S.{10,}\.$/);
  });
});

/** The sides that tests prove each row of. That a test drives the side is checked when it runs: see `prove-sides.ts`. */
async function provenSides(): Promise<Map<string, Set<Side>>> {
  const sides = new Map<string, Set<Side>>();
  for (const [path, text] of await sourceFiles("test", [".ts"])) {
    // What is written here about citing is no test of the protocol.
    if (path.startsWith("test/spec/coverage")) continue;
    for (const id of provenIds(text)) {
      const own = sides.get(id) ?? new Set();
      for (const side of sidesOf(path)) own.add(side);
      sides.set(id, own);
    }
  }
  return sides;
}

describe("citations", () => {
  it("name only rows that exist", async () => {
    const places = [
      "src",
      "test",
      "examples",
      "bench",
      "docs",
      "README.md",
      "ARCHITECTURE.md",
      "CONTRIBUTING.md",
    ];
    const unknown: string[] = [];
    for (const place of places) {
      for (const [path, text] of await sourceFiles(place, [".ts", ".sql", ".md"])) {
        for (const id of citedIds(text)) if (!known.has(id)) unknown.push(`${path} cites ${id}`);
      }
    }
    expect(unknown).toEqual([]);
  });

  it("of tests name the requirements that they prove", async () => {
    const proven = await provenSides();
    const open = requirementIds.filter((id) => !proven.has(id));
    const decided = decisionIds.filter((id) => proven.has(id));
    // What a test names is no longer declined.
    expect(declined.filter(({ id }) => proven.has(id) || !known.has(id))).toEqual([]);
    console.log(
      `spec: tests name ${requirementIds.length - open.length} of ${requirementIds.length} requirements ` +
        `and ${decided.length} of ${decisionIds.length} decisions`,
    );
    expect([...proven.keys()].filter((id) => !known.has(id))).toEqual([]);
    expect(open.toSorted()).toEqual(declined.map(({ id }) => id).toSorted());
  });

  it("of tests show each row at every side that it is for", async () => {
    const proven = await provenSides();
    const missing = requirements.flatMap(({ id, who }) =>
      sidesFor(who)
        .filter((side) => !undriven.has(id) && proven.has(id) && !proven.get(id)?.has(side))
        .map((side) => `${id}: no test of the ${side}`),
    );
    expect(missing).toEqual([]);
  });
});
