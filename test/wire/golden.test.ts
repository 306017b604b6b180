import { readdir, readFile, writeFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { judge } from "./judge.ts";
import { normalise } from "./normalise.ts";
import { scenarios } from "./scenarios.ts";
import { setStage } from "./stage.ts";

const folder = new URL("./golden/", import.meta.url);

/** With UPDATE_GOLDEN=1 the transcripts become the golden files: read the diff before you commit it. */
const updates = process.env["UPDATE_GOLDEN"] === "1";

it.each(Object.entries(scenarios))(
  "says in %s what it always said, and nothing that the published schemas refuse [X-013 X-031 X-042 X-058 X-074]",
  async (name, scenario) => {
    const stage = await setStage();
    await scenario(stage);
    const { entries } = stage.recorder;
    expect(judge(entries)).toEqual([]);
    const file = new URL(`${name}.jsonl`, folder);
    if (updates) await writeFile(file, normalise(entries));
    expect(normalise(entries).split("\n")).toEqual((await readFile(file, "utf8")).split("\n"));
  },
);

it("has no golden file without a scenario", async () => {
  const files = Object.keys(scenarios).map((name) => `${name}.jsonl`);
  expect((await readdir(folder)).toSorted()).toEqual(files.toSorted());
});
