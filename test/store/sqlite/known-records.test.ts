import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { GroupWriter } from "../../../src/store/sqlite/group-writer.ts";
import { migrate } from "../../../src/store/sqlite/schema.ts";
import { OwnerWrites } from "../../../src/store/sqlite/sqlite-owners.ts";
import { Statements } from "../../../src/store/sqlite/statements.ts";
import type { TaskStore } from "../../../src/store/store.ts";
import type { TaskCommand } from "../../../src/task/command.ts";
import type { TaskSnapshot } from "../../../src/task/record.ts";
import { createRunning, noon } from "../../contract/sample-task.ts";
import { useTempDirectory } from "./temp-directory.ts";

// A writer keeps the records that it wrote last. It must see what others make of them.

const temp = useTempDirectory();

function writerOf(owner: string): GroupWriter & { readonly db: DatabaseSync } {
  const db = new DatabaseSync(temp.path());
  onTestFinished(() => db.close());
  db.exec("PRAGMA journal_mode = WAL");
  migrate(db);
  const statements = new Statements(db);
  new OwnerWrites(statements).add({ id: owner, handlers: [] });
  return Object.assign(new GroupWriter(statements, temp.path(), owner, () => true), { db });
}

const held = { now: noon, id: "task-a", token: "t1" } as const;
const update = (statusMessage: string): TaskCommand<"update"> => ({
  ...held,
  type: "update",
  changes: { statusMessage },
});

function written(writer: GroupWriter, command: TaskCommand): unknown {
  const [answer] = writer.commit([command]).answers;
  return answer !== undefined && "result" in answer ? answer.result : answer;
}

test("a writer goes on from what another connection wrote", () => {
  const [first, second] = [writerOf("first"), writerOf("second")];
  written(first, createRunning("a"));
  for (const [writer, version] of [
    [second, 2],
    [first, 3],
    [first, 4],
    [second, 5],
    [first, 6],
  ] as const) {
    const text = `version ${version}`;
    expect(written(writer, update(text))).toMatchObject({ task: { version, statusMessage: text } });
  }
});

test("a task that another connection damaged is unreadable, and one that it deleted is unknown", () => {
  const writer = writerOf("first");
  written(writer, createRunning("a"));
  const { db } = writerOf("second");
  db.exec("UPDATE task SET attempts = '{'");
  expect(written(writer, update("late"))).toMatchObject({ code: "task_unreadable" });
  db.exec("DELETE FROM task");
  expect(written(writer, update("late"))).toEqual({ ok: false, reason: "unknown" });
});

test("what was undone is not known", () => {
  const writer = writerOf("first");
  written(writer, createRunning("a"));
  // The record is written by then, the entry is not.
  writer.db.exec("CREATE TRIGGER no BEFORE INSERT ON journal BEGIN SELECT RAISE(ABORT, 'no'); END");
  const step = { ...held, type: "record_step", key: "s", value: "1", error: null } as const;
  expect(writer.commit([step, update("x")]).answers).toMatchObject([
    { problem: "no" },
    { result: { task: { version: 2 } } },
  ]);
  expect(() => writer.commit([{ ...step, key: "t" }])).not.toThrow();
  expect(written(writer, update("y"))).toMatchObject({ task: { version: 3 } });
});

test("the key of a finished task is free once it is released", () => {
  const writer = writerOf("first");
  const create = createRunning("a");
  const keyed = { ...create, task: { ...create.task, idempotencyKey: "k" } };
  written(writer, keyed);
  written(writer, { ...held, type: "settle", outcome: { kind: "result", body: "{}" } });
  written(writer, { type: "release_key", now: noon, id: "task-a" });
  expect(written(writer, { type: "retrieve", now: noon, id: "task-a", via: "tasks/get" })).toMatchObject({
    task: { idempotencyKey: null, retrieved: { via: "tasks/get" } },
  });
});

const ask: TaskCommand<"open_input"> = {
  ...held,
  type: "open_input",
  input: { key: "q", method: "roots/list", params: "{}" },
  requestHash: "hash",
  deadlineAt: null,
};
const settle: TaskCommand<"settle"> = { ...held, type: "settle", outcome: { kind: "result", body: "{}" } };

/** A store with an ended task that has been read often enough for its reader to keep it. */
async function storeThatKeeps(): Promise<TaskStore> {
  const store = await temp.open();
  await store.write(createRunning("a"));
  await store.write(settle);
  const [, , third, fourth] = await readRepeatedly(store);
  expect(fourth).toBe(third);
  return store;
}

async function readRepeatedly(store: TaskStore): Promise<readonly unknown[]> {
  return [await read(store), await read(store), await read(store), await read(store)];
}

function read(store: TaskStore): Promise<TaskSnapshot | undefined> {
  return store.snapshot(held.id);
}

test("a reader keeps a task that is read again and again, but no question and no large outcome", async () => {
  const store = await temp.open();
  await store.write(createRunning("a"));
  const running = await readRepeatedly(store);
  expect(new Set(running).size).toBe(3);
  await store.write(ask);
  const asking = await readRepeatedly(store);
  expect(new Set(asking).size).toBe(4);
  await store.write({ ...settle, outcome: { kind: "result", body: JSON.stringify("x".repeat(5_000)) } });
  const large = await readRepeatedly(store);
  expect(new Set(large).size).toBe(4);
});

test("a reader that keeps an ended task sees at once what this store writes, and what others do", async () => {
  const store = await storeThatKeeps();
  await store.write({ type: "retrieve", now: noon, id: held.id, via: "tasks/get" });
  expect(await read(store)).toMatchObject({ task: { retrieved: { via: "tasks/get" } } });
  await readRepeatedly(store);
  const { db } = writerOf("second");
  db.exec("DELETE FROM task");
  expect(await read(store)).toBeUndefined();
});

test("a kept task is shown only to those who may see it", async () => {
  const store = await storeThatKeeps();
  expect(await store.snapshot(held.id, () => false)).toBeUndefined();
});
