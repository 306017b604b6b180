import { readdir, stat } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { createQueued } from "../../contract/sample-task.ts";
import { runChild } from "./child.ts";
import { useTempDirectory } from "./temp-directory.ts";

const temp = useTempDirectory();
const forgetStore = new URL("./forget-store.ts", import.meta.url);

test("close leaves one file and its lock, with no log beside it", async () => {
  const store = await temp.open();
  await store.write(createQueued("a"));
  await store.close();
  expect((await readdir(temp.path("."))).toSorted()).toEqual(["tasks.db", "tasks.db.lock"]);
});

test("close empties the log, though an onlooker keeps it in being", async () => {
  const store = await temp.open();
  const onlooker = new DatabaseSync(temp.path(), { readOnly: true });
  try {
    expect(onlooker.prepare("SELECT count(*) AS n FROM task").get()).toEqual({ n: 0 });
    await store.write(createQueued("a"));
    await store.close();
    expect((await stat(temp.path("tasks.db-wal"))).size).toBe(0);
  } finally {
    onlooker.close();
  }
});

test("an open store keeps no process running, a write that waits for its commit does", async () => {
  const child = runChild(forgetStore, [temp.path()]);
  expect(await child.rest()).toEqual(["kept"]);
  const store = await temp.open();
  expect(await store.get("task-b")).toBeDefined();
});
