import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { exportJournal } from "../../../src/store/export-journal.ts";
import { readDatabase } from "../../../src/store/sqlite/open-database.ts";
import type { TaskStore } from "../../../src/store/store.ts";
import { askAs, callInChain, callTool, settleAs, startTask } from "../../../src/testing/sample-task.ts";
import { createQueued, noon } from "../../contract/sample-task.ts";
import { useTempDirectory } from "./temp-directory.ts";

const files = useTempDirectory();

function damage(sql: string): void {
  const db = new DatabaseSync(files.path());
  db.exec(sql);
  db.close();
}

/** A task that called another one, which called a third; each of them runs. */
async function threeTasks(): Promise<TaskStore> {
  const store = await files.open();
  await callInChain(store, "a", "b", "c");
  return store;
}

const unreadable = { code: "task_unreadable" };

describe("a task whose parent cannot be read", () => {
  test.each(["a", "b", "c"])("ends, and leaves nothing, where %s is damaged", async (name) => {
    const store = await threeTasks();
    damage(`UPDATE task SET progress = '{' WHERE id = 'task-${name}'`);
    const isOwn = name === "c";
    const end = store.write(settleAs("c"));
    if (isOwn) return expect(end).rejects.toMatchObject(unreadable);
    expect(await end).toMatchObject({ ok: true });
    expect(await store.get("task-c")).toBeUndefined();
    if (name === "a") {
      expect(await store.get("task-b")).toMatchObject({ openWaits: 0 });
      expect(await store.journalEntry("task-b", "call-c")).toMatchObject({ value: "{}" });
    } else {
      await expect(store.get("task-b")).rejects.toMatchObject(unreadable);
    }
  });

  test("asks, and is answered, where its root is damaged", async () => {
    const store = await threeTasks();
    damage("UPDATE task SET progress = '{' WHERE id = 'task-a'");
    expect(await store.write(askAs("c", "q"))).toMatchObject({ task: { openInputs: 1 } });
    const answers = [{ key: "q", value: "1" }];
    const answer = { type: "answer_inputs", now: noon, id: "task-c", answers } as const;
    expect(await store.write(answer)).toMatchObject({ accepted: ["q"] });
  });

  test("ends where the entry of its call is damaged", async () => {
    const store = await threeTasks();
    damage("UPDATE journal SET kind = 'later' WHERE task_id = 'task-b'");
    expect(await store.write(settleAs("c"))).toMatchObject({ ok: true });
    expect(await store.get("task-b")).toMatchObject({ openWaits: 1, version: 3 });
    await expect(store.journalEntry("task-b", "call-c")).rejects.toMatchObject(unreadable);
  });
});

test("what ends tells the tasks that it called, but for one that cannot be read", async () => {
  const store = await threeTasks();
  await store.write(callTool("a", "d"));
  await store.write(startTask("d"));
  damage("UPDATE task SET progress = '{' WHERE id = 'task-b'");
  expect(await store.write(settleAs("a"))).toMatchObject({ ok: true });
  expect(await store.get("task-d")).toMatchObject({ cancelRequestedAt: noon + 9 });
  damage("UPDATE task SET progress = NULL WHERE id = 'task-b'");
  expect(await store.get("task-b")).toMatchObject({ cancelRequestedAt: null });
});

test.each([
  "{",
  "null",
  "1",
  "{}",
  '{"id":"x","key":"k","root":"x"}',
  '{"id":1,"key":"k","root":"x","cancelGraceMs":1}',
])("a task with the parent %s is a fault of its own, and none that a requestor made", async (parent) => {
  const store = await threeTasks();
  damage(`UPDATE task SET parent = '${parent}' WHERE id = 'task-b'`);
  await expect(store.get("task-b")).rejects.toMatchObject(unreadable);
  await expect(store.write(settleAs("b"))).rejects.toMatchObject(unreadable);
  expect(await store.write(createQueued("e"))).toMatchObject({ ok: true });
});

test("an event that cannot be read is a fault of its task", async () => {
  const store = await threeTasks();
  const event = { name: "paid", value: "1", dedupeId: null, limit: 9 };
  await store.write({ type: "send_event", now: noon, id: "task-a", ...event });
  damage("UPDATE event SET value = char(0xfffe) || 'cut'");
  const wait = { key: "w", name: "paid", requestHash: "h", deadlineAt: null };
  const held = { now: noon, id: "task-a", token: "t1" };
  await expect(store.write({ type: "wait_event", ...held, ...wait })).rejects.toMatchObject(unreadable);
  expect(await store.write({ type: "wait_event", ...held, ...wait, name: "other" })).toMatchObject({
    ok: true,
  });
});

test("a root is exported while a task below it asks", async () => {
  const store = await threeTasks();
  await store.write(askAs("c", "q"));
  expect(await readDatabase(files.path(), (tasks) => exportJournal(tasks, "task-a"))).toMatchObject({
    entries: [{ key: "call-b", kind: "call", request: "publish" }],
  });
});
