import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { exportJournal } from "../../../src/store/export-journal.ts";
import { migrate, migrations } from "../../../src/store/sqlite/schema.ts";
import { readDatabase } from "../../../src/store/sqlite/open-database.ts";
import type { TaskStore } from "../../../src/store/store.ts";
import { createQueued, createRunning, noon } from "../../contract/sample-task.ts";
import { useTempDirectory } from "./temp-directory.ts";

const files = useTempDirectory();
const held = { id: "task-a", now: noon, token: "t1" } as const;
const state = (): readonly (readonly [string, string])[] =>
  readdirSync(files.path("."))
    .sort()
    .map((name) => [name, readFileSync(files.path(name), "latin1")] as const);
const exported = (name?: string) => readDatabase(files.path(name), (tasks) => exportJournal(tasks, "task-a"));

async function closedStore(): Promise<void> {
  const store = await files.open();
  await store.write(createRunning("a"));
  await store.write({ ...held, type: "record_step", key: "rows", value: "[1,2]", error: null });
  await store.close();
  rmSync(files.path("tasks.db.owners"), { recursive: true });
}

test("reads a file that nobody has open, and leaves no trace of it", async () => {
  await closedStore();
  const before = state();
  expect(await exported()).toMatchObject({
    format: "holdfast-journal-1",
    taskId: "task-a",
    entries: [{ key: "rows", kind: "step", value: [1, 2] }],
  });
  expect(state()).toEqual(before);
});

test("reads beside an owner, what is in its log too, in one consistent view", async () => {
  const store: TaskStore = await files.open();
  await store.write(createRunning("a"));
  const names = readdirSync(files.path("."));
  const seen = await readDatabase(files.path(), async (tasks) => {
    const before = await tasks.get("task-a");
    expect(await store.write({ ...held, type: "mark" })).toMatchObject({ ok: true });
    return [before, await tasks.get("task-a")];
  });
  expect(seen[1]).toEqual(seen[0]);
  expect(readdirSync(files.path("."))).toEqual(names);
  expect(await store.renew()).toMatchObject({ held: true, others: 0 });
  expect((await exported()).version).toBeGreaterThan(seen[0]?.version ?? Infinity);
});

test("reads again what an owner began to write meanwhile", async () => {
  await closedStore();
  let reads = 0;
  const found = await readDatabase(files.path(), async (tasks) => {
    reads += 1;
    const task = await tasks.get("task-b");
    if (reads === 1) await (await files.open()).write(createQueued("b"));
    return task;
  });
  expect([reads, found?.id]).toEqual([2, "task-b"]);
});

test("makes no file where there is none, and reads none that is not ours", async () => {
  await expect(exported("none.db")).rejects.toMatchObject({
    code: "store_unusable",
    message: expect.stringMatching(/^There is no file .*none\.db\.$/),
  });
  writeFileSync(files.path("text.db"), "no database".repeat(200));
  const other = new DatabaseSync(files.path("other.db"));
  other.exec("CREATE TABLE theirs (x)");
  other.close();
  const before = state();
  await expect(exported("text.db")).rejects.toMatchObject({ code: "store_unusable" });
  await expect(exported("other.db")).rejects.toThrow(/database of another program/);
  await expect(exported(".")).rejects.toThrow(/is not a regular file/);
  expect(state()).toEqual(before);
});

test("reads no newer schema", async () => {
  await closedStore();
  const db = new DatabaseSync(files.path());
  migrate(db, [...migrations, "CREATE TABLE newer (a)"]);
  db.close();
  const before = state();
  await expect(exported()).rejects.toThrow("newer version of Holdfast");
  expect(state()).toEqual(before);
});

test("says which task is not there", async () => {
  await closedStore();
  await expect(readDatabase(files.path(), (tasks) => exportJournal(tasks, "nobody"))).rejects.toMatchObject({
    code: "unknown_task",
    message: 'The store has no task "nobody".',
  });
});
