import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { dumpStore } from "../../src/store/data-care.ts";
import type { DumpRow } from "../../src/store/dump-tables.ts";
import { placeOfStore } from "../../src/store/from-url.ts";
import { call, kinds, serve, somePlace } from "../cli/admin/some-place.ts";

const { signal } = new AbortController();

type Rows = Readonly<Record<"task" | "journal" | "outcome" | "line", Map<string, DumpRow[]>>>;

/** The rows of a dump, by table and task. */
async function rowsOf(file: string): Promise<Rows> {
  const rows: Rows = { task: new Map(), journal: new Map(), outcome: new Map(), line: new Map() };
  for (const line of gunzipSync(await readFile(file))
    .toString()
    .split("\n")
    .slice(0, -1)) {
    const [[name, row]] = Object.entries(JSON.parse(line) as object) as [[string, DumpRow]];
    const table = rows[name as keyof Rows] as Map<string, DumpRow[]> | undefined;
    const id = String(row["task_id"] ?? row["id"]);
    table?.set(id, [...(table.get(id) ?? []), row]);
  }
  return rows;
}

/** What cannot be of one moment. */
function torn({ task, journal, outcome, line }: Rows): readonly string[] {
  return [...task].flatMap(([id, [row = {}]]) => {
    const versions = (journal.get(id) ?? []).map((entry) => Number(entry["done_version"] ?? 0));
    const [steps, lines] = [versions.length, line.get(id)?.length ?? 0];
    const isSettled = row["state"] === "settled";
    return [
      Math.max(0, ...versions) > Number(row["version"]) && `${id}: its journal is newer than its record`,
      isSettled !== outcome.has(id) && `${id} is ${String(row["state"])}, and has another outcome`,
      Number(row["logged"]) !== lines && `${id} has lines that its record does not know, or lacks some`,
      isSettled && steps !== 5 && `${id} has ended after ${steps} steps`,
    ].filter((problem) => problem !== false);
  });
}

it.each(kinds)("each task in a dump is as it was at one moment, while others write, on %s", async (kind) => {
  const place = await somePlace(kind);
  const runtime = await serve(place, (tools) =>
    tools.add("work", {}, async (_, task) => {
      for (let n = 0; n < 5; n++) {
        await task.step(["step", n], () => n);
        await task.log("info", `did ${n}`);
      }
      return { content: [] };
    }),
  );
  let goesOn = true;
  const calls = (async () => {
    while (goesOn) await Promise.all(Array.from({ length: 8 }, () => call(runtime, "work")));
  })();
  const states = new Set<unknown>();
  for (let n = 0; n < 8 || !states.has("settled") || !(states.has("running") || states.has("queued")); n++) {
    const file = join(place.cwd, `${n}.dump`);
    await dumpStore(
      placeOfStore(place.url, (path) => path),
      file,
      { now: 0, since: undefined, signal },
    );
    const rows = await rowsOf(file);
    expect(torn(rows)).toEqual([]);
    for (const [row] of rows.task.values()) states.add(row?.["state"]);
  }
  goesOn = false;
  await calls;
});
