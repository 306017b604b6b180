import { readdir, readFile, writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { judge } from "./judge.ts";
import { normalise } from "./normalise.ts";
import { scenarios } from "./scenarios.ts";
import { Stage } from "./stage.ts";
import { wires, type Way } from "./wires.ts";

/** With UPDATE_GOLDEN=1 the transcripts become the golden files: read the diff before you commit it. */
const updates = process.env["UPDATE_GOLDEN"] === "1";

describe.each(Object.keys(wires) as Way[])("over %s", (way) => {
  const folder = new URL(`./golden/${way}/`, import.meta.url);

  it.each(Object.entries(scenarios))(
    "says in %s what it always said, to which task it belongs, and nothing that published schemas refuse [C-063 C-069 C-098 C-099 C-102 C-037 C-038 C-047]",
    async (name, scenario) => {
      const stage = await Stage.set(way);
      await scenario(stage);
      const { entries, arrived } = stage.transcript;
      expect(judge(entries, arrived)).toEqual([]);
      const file = new URL(`${name}.jsonl`, folder);
      if (updates) await writeFile(file, normalise(entries));
      expect(normalise(entries).split("\n")).toEqual((await readFile(file, "utf8")).split("\n"));
    },
  );

  it("has no golden file without a scenario", async () => {
    const files = Object.keys(scenarios).map((name) => `${name}.jsonl`);
    expect((await readdir(folder)).toSorted()).toEqual(files.toSorted());
  });
});
