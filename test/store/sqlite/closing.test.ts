import { readdir, stat } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import type { Worker } from "node:worker_threads";
import { expect, onTestFinished, test } from "vitest";
import { reclaimGone } from "../../../src/testing/sample-task.ts";
import { createQueued, createRunning } from "../../contract/sample-task.ts";
import { runChild } from "./child.ts";
import { useTempDirectory } from "./temp-directory.ts";

const temp = useTempDirectory();
const forgetStore = new URL("./forget-store.ts", import.meta.url);

test("close leaves one file with its lock and no owner, and no log beside it", async () => {
  const store = await temp.open();
  await store.write(createQueued("a"));
  await store.close();
  expect((await readdir(temp.path("."))).toSorted()).toEqual([
    "tasks.db",
    "tasks.db.lock",
    "tasks.db.owners",
  ]);
  expect(await readdir(temp.path("tasks.db.owners"))).toEqual([]);
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

test("a store whose writing thread has died is as one that was closed: others take over what it leaves", async () => {
  const threads: Worker[] = [];
  const note = (thread: Worker): number => threads.push(thread);
  process.on("worker", note);
  onTestFinished(() => void process.off("worker", note));
  const store = await temp.open();
  process.off("worker", note);
  await store.write(createRunning("a"));
  const other = await temp.open();
  expect(await other.renew()).toMatchObject({ gone: [], others: 1 });
  for (const thread of threads) await thread.terminate();
  await expect(store.write(createQueued("b"))).rejects.toThrow("Restart the process");
  expect(await other.renew()).toMatchObject({ gone: [expect.any(String)], others: 0 });
  await reclaimGone(other);
  expect(await other.get("task-a")).toMatchObject({ state: "queued", crashes: 1 });
  expect(await store.renew()).toMatchObject({ held: false });
});
