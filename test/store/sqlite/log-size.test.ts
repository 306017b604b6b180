import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import type { TaskStore } from "../../../src/store/store.ts";
import { createRunning, noon } from "../../contract/sample-task.ts";
import { useTempDirectory } from "./temp-directory.ts";

const temp = useTempDirectory();
const mebibyte = 1024 * 1024;
const limit = 8 * mebibyte;

const logSize = () => statSync(`${temp.path()}-wal`).size;

async function opened(): Promise<TaskStore> {
  const store = await temp.open();
  await store.write(createRunning("a"));
  return store;
}

function writeStep(store: TaskStore, key: string, bytes: number) {
  const held = { now: noon, id: "task-a", token: "t1" };
  return store.write({ type: "record_step", ...held, key, value: "x".repeat(bytes), error: null });
}

/** The thread that writes takes the next command after it has tidied up. */
const afterTidying = (store: TaskStore) =>
  store.write({ type: "mark", now: noon, id: "task-a", token: "t1" });

test("large writes that are made together are cut into groups of a bounded size", async () => {
  const store = await opened();
  const sizes: number[] = [];
  store.subscribe((changes) => void sizes.push(changes.length));
  await Promise.all(Array.from({ length: 20 }, (_, index) => writeStep(store, `${index}`, mebibyte)));
  expect(sizes).toEqual([7, 7, 6]);
});

test("the log gives its space back after a transaction beyond its limit", async () => {
  const store = await opened();
  await writeStep(store, "large", limit + mebibyte);
  await afterTidying(store);
  expect(logSize()).toBeLessThan(mebibyte);
});

test("while another program reads the log grows, nobody waits, and afterwards it gives its space back", async () => {
  const store = await opened();
  const onlooker = new DatabaseSync(temp.path(), { readOnly: true });
  onlooker.exec("BEGIN");
  onlooker.prepare("SELECT count(*) FROM task").get();
  await writeStep(store, "large", limit + mebibyte);
  await afterTidying(store);
  expect(logSize()).toBeGreaterThan(limit);
  onlooker.exec("COMMIT");
  await writeStep(store, "next", 1);
  await afterTidying(store);
  expect(logSize()).toBeLessThan(mebibyte);
  onlooker.close();
});
