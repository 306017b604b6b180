import { readFile, writeFile } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { Readable } from "node:stream";
import { gunzipSync, gzipSync } from "node:zlib";
import { beforeEach, describe, expect, it } from "vitest";
import { dumpStore, loadStore } from "../../src/store/data-care.ts";
import { writeDump } from "../../src/store/dump-file.ts";
import type { TaskStore } from "../../src/store/store.ts";
import { createQueued, createRunning } from "../contract/sample-task.ts";
import { useTempDirectory } from "./sqlite/temp-directory.ts";

const temp = useTempDirectory();
const { signal } = new AbortController();

const at = (name: string) => ({ kind: "sqlite", path: temp.path(name) }) as const;

async function dumped(name: string, since?: string): Promise<string> {
  const file = temp.path(name);
  await dumpStore(at("tasks.db"), file, { now: 0, since: since && temp.path(since), signal });
  return file;
}

async function loaded(to: string, name: string, partial = false): Promise<string> {
  try {
    await loadStore(at(to), temp.path(name), { beside: true, partial, signal });
    return "loaded";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function lines(file: string): Promise<readonly string[]> {
  return gunzipSync(await readFile(file))
    .toString()
    .split("\n")
    .slice(0, -1);
}

describe("a dump", () => {
  let store: TaskStore;
  let whole: readonly string[] = [];
  beforeEach(async () => {
    store = await temp.open();
    for (const name of ["a", "b", "c"]) await store.write(createQueued(name));
    whole = await lines(await dumped("whole"));
  });

  async function refused(changed: readonly string[]): Promise<string> {
    await writeFile(temp.path("bad"), gzipSync(changed.map((line) => `${line}\n`).join("")));
    return loaded("copy.db", "bad");
  }

  it("is refused with the line that was changed, cut, lost, moved or added", async () => {
    const end = whole.length;
    for (let number = 2; number <= end; number++) {
      const [before, line = "", after] = [whole.slice(0, number - 1), whole[number - 1], whole.slice(number)];
      expect(await refused([...before, line.replace(/\d/, "x"), ...after])).toContain(
        `damaged at line ${number}:`,
      );
      expect(await refused([...before, line.slice(0, -5)])).toContain(`damaged at line ${number}:`);
      expect(await refused(before)).toContain(`was cut at line ${number}:`);
      if (number < end) expect(await refused([...before, ...after])).toContain(`damaged at line ${number}:`);
      expect(await refused([...before, line, line, ...after])).toContain(`damaged at line ${number + 1}:`);
    }
    expect(await refused([])).toContain("is not a dump of a store");
    expect(await refused(["x", ...whole])).toContain("is not a dump of a store");
    expect(await refused([String(whole[0]), ...whole])).toContain("damaged at line 2:");
    expect(await loaded("copy.db", "tasks.db")).toContain("is not a dump of a store");
    // And none of it was written.
    expect(await loaded("copy.db", "whole")).toBe("loaded");
  });

  it("has each line in clear JSON, with the texts as they are stored", () => {
    const [header, ...rest] = whole.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(header).toMatchObject({ header: { holdfast: "dump", format: 1, since: null, store: "sqlite" } });
    const tasks = rest.flatMap(({ task }) => (task === undefined ? [] : [task]));
    expect(tasks).toMatchObject([{ id: "task-a" }, { id: "task-b" }, { id: "task-c" }]);
    expect(rest.at(-1)).toMatchObject({ end: { lines: whole.length - 1 } });
  });

  it("of an older version is loaded, and one with what only a later version knows is refused", async () => {
    const [header, ...rest] = whole.map((line) => JSON.parse(line) as Record<string, object>);
    async function changed(name: string, change: (task: object) => object): Promise<string> {
      const body = rest
        .slice(0, -1)
        .map(({ sum: _, ...line }) =>
          line["task"] === undefined ? line : { ...line, task: change(line["task"]) },
        );
      const given = header?.["header"] as Parameters<typeof writeDump>[1];
      await writeDump(temp.path(name), given, Readable.from(body), signal);
      return loaded(`${name}.db`, name);
    }
    expect(await changed("older", ({ cause: _, ...task }: { cause?: unknown }) => task)).toBe("loaded");
    expect(await changed("later", (task) => ({ ...task, hue: "red" }))).toContain(
      "has hue of task at line 3, which this version of Holdfast does not know",
    );
    expect(await (await temp.open("older.db")).get("task-a")).toEqual(await store.get("task-a"));
  });

  it("of changes has the versions of all tasks, and the rows of those that changed", async () => {
    await store.write({ type: "cancel", now: 1, id: "task-b" });
    await store.write({ type: "delete", now: 1, id: "task-b" });
    await store.write({ type: "cancel", now: 1, id: "task-c" });
    await store.write(createQueued("d"));
    const rest = (await lines(await dumped("second", "whole"))).map((line) => JSON.parse(line) as object);
    expect(rest.flatMap((line) => ("page" in line ? [line.page] : []))).toEqual([
      [
        ["task-a", 1],
        ["task-c", 2],
        ["task-d", 1],
      ],
    ]);
    expect(rest.flatMap((line) => ("task" in line ? [line.task] : []))).toMatchObject([
      { id: "task-c" },
      { id: "task-d" },
    ]);
  });

  it("of changes is loaded only after the one that it follows, and a store stays closed until then", async () => {
    await store.write(createQueued("d"));
    await dumped("second", "whole");
    await dumped("third", "second");
    expect(await loaded("copy.db", "second")).toContain("Load that one first, with --partial");
    expect(await loaded("copy.db", "whole", true)).toBe("loaded");
    expect(await loaded("copy.db", "third")).toContain("this file does not continue it");
    await expect(temp.open("copy.db")).rejects.toMatchObject({ code: "store_locked" });
    await expect(
      dumpStore(at("copy.db"), temp.path("x"), { now: 0, since: undefined, signal }),
    ).rejects.toThrow("is not complete");
    expect(await loaded("copy.db", "second", true)).toBe("loaded");
    expect(await loaded("copy.db", "third")).toBe("loaded");
    const copy = await temp.open("copy.db");
    expect((await copy.unfinished("", 9)).map(({ id }) => id)).toEqual([
      "task-a",
      "task-b",
      "task-c",
      "task-d",
    ]);
    expect(await loaded("copy.db", "whole")).toContain("is open in another process");
  });

  it("of changes hands a key from a task that gave it up to one that comes before it", async () => {
    await store.write(createRunning("z", { idempotencyKey: "k" }));
    await dumped("first");
    await store.write({ type: "cancel", now: 1, id: "task-z" });
    await store.write({ type: "release_key", now: 1, id: "task-z" });
    await store.write(createQueued("0", { idempotencyKey: "k" }));
    await dumped("second", "first");
    expect(await loaded("copy.db", "first", true)).toBe("loaded");
    expect(await loaded("copy.db", "second")).toBe("loaded");
    const copy = await temp.open("copy.db");
    const owner = (await store.get("task-z"))?.principal ?? null;
    expect(await copy.withKeys(owner, "k", 9)).toEqual([{ id: "task-0", key: "k" }]);
    expect(await copy.get("task-z")).toEqual(await store.get("task-z"));
  });

  it("goes on after an interruption from where it was, and not with another file", async () => {
    const payload = JSON.stringify("x".repeat(400_000));
    for (const name of ["p", "q", "r", "s", "t", "u"]) {
      const command = createQueued(name);
      await store.write({ ...command, request: { ...command.request, arguments: payload } });
    }
    await dumped("large");
    let batches = 0;
    const counting = Object.create(signal, {
      throwIfAborted: {
        value: () => {
          if (++batches > 2) throw new Error("stopped");
        },
      },
    }) as AbortSignal;
    const how = { beside: true, partial: false, signal: counting };
    await expect(loadStore(at("copy.db"), temp.path("large"), how)).rejects.toThrow("stopped");
    await expect(temp.open("copy.db")).rejects.toMatchObject({ code: "store_locked" });
    expect(await loaded("copy.db", "whole")).toContain("halfway from another dump");
    const half = new DatabaseSync(temp.path("copy.db"));
    const count = half.prepare("SELECT count(*) AS count FROM request").get()?.["count"];
    half.close();
    expect(Number(count)).toBeGreaterThan(0);
    expect(Number(count)).toBeLessThan(9);
    expect(await loaded("copy.db", "large")).toBe("loaded");
    const copy = await temp.open("copy.db");
    expect((await copy.unfinished("", 20)).length).toBe(9);
    expect(await copy.request("task-u")).toEqual(await store.request("task-u"));
  });
});
