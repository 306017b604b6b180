import { describe, expect, it } from "vitest";
import { sourceFiles } from "../source-files.ts";
import { citedIds, provenIds } from "./coverage.ts";
import { base } from "./base.ts";
import { core } from "./core.ts";
import { declined } from "./declined.ts";
import { decisions } from "./decisions.ts";
import { extension } from "./extension.ts";
import { sep } from "./sep.ts";

const requirements = [...core, ...extension, ...sep, ...base];
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
    const proven = new Set<string>();
    for (const [path, text] of await sourceFiles("test", [".ts"])) {
      // What is written here about citing is no test of the protocol.
      if (path === "test/spec/coverage.test.ts") continue;
      for (const id of provenIds(text)) proven.add(id);
    }
    const open = requirementIds.filter((id) => !proven.has(id));
    const decided = decisionIds.filter((id) => proven.has(id));
    // What a test names is no longer declined.
    expect(declined.filter(({ id }) => proven.has(id) || !known.has(id))).toEqual([]);
    console.log(
      `spec: tests name ${requirementIds.length - open.length} of ${requirementIds.length} requirements ` +
        `and ${decided.length} of ${decisionIds.length} decisions`,
    );
    const unproven = [...proven].filter((id) => !known.has(id));
    expect(unproven).toEqual([]);
    expect(open.toSorted()).toEqual(declined.map(({ id }) => id).toSorted());
  });
});
