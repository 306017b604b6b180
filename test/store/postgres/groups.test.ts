import { expect, onTestFinished, test } from "vitest";
import { postgresStore } from "../../../src/store/postgres/postgres-store.ts";
import type { TaskStore } from "../../../src/store/store.ts";
import {
  aHandler,
  createQueued,
  createRunning,
  noon,
  sampleRequest,
  sampleTask,
} from "../../../src/testing/sample-task.ts";
import { HoldfastError } from "../../../src/task/fault.ts";
import { FreshSchema } from "../../postgres/test-database.ts";
import { withClient } from "../../postgres/with-client.ts";

// What is written in one turn of the event loop is decided together, and has to be as if each command had come by itself.

async function freshSchema(): Promise<FreshSchema> {
  const fresh = await FreshSchema.inSharedDatabase();
  onTestFinished(() => fresh.drop());
  return fresh;
}

async function openStore(fresh: FreshSchema, id: string): Promise<TaskStore> {
  const store = postgresStore(fresh.url, { schema: fresh.schema });
  await store.open({ id, handlers: [aHandler] });
  onTestFinished(() => store.close());
  return store;
}

async function run(fresh: FreshSchema, sql: string): Promise<readonly unknown[][]> {
  return withClient(fresh.url, async (client) => {
    const { rows } = await client.query<unknown[]>({ text: sql, rowMode: "array" });
    return rows;
  });
}

const done = { kind: "result", body: "{}" } as const;
const held = (name: string) => ({ now: noon, id: `task-${name}`, token: "t1" }) as const;

test("a key that a finished task gives up is free for the next command", async () => {
  const store = await openStore(await freshSchema(), "one");
  await store.write(createRunning("a", { idempotencyKey: "k" }));
  await store.write({ type: "settle", ...held("a"), outcome: done });
  const [released, created] = await Promise.all([
    store.write({ type: "release_key", now: noon, id: "task-a" }),
    store.write(createQueued("b", { idempotencyKey: "k" })),
  ]);
  expect(released).toEqual({ ok: true });
  expect(created).toMatchObject({ ok: true, created: true, task: { id: "task-b" } });
});

test("an event does not end a wait that was given up just before", async () => {
  const store = await openStore(await freshSchema(), "one");
  await store.write(createRunning("a"));
  await store.write({
    type: "wait_event",
    ...held("a"),
    key: "w",
    name: "n",
    requestHash: "h",
    deadlineAt: null,
  });
  const [closed, sent] = await Promise.all([
    store.write({ type: "close_wait", ...held("a"), key: "w", error: "late" }),
    store.write({
      type: "send_event",
      now: noon,
      id: "task-a",
      name: "n",
      value: "1",
      dedupeId: null,
      limit: 9,
    }),
  ]);
  expect(closed).toMatchObject({ ok: true, task: { openWaits: 0 } });
  expect(sent).toMatchObject({ ok: true, ended: null });
  expect(await store.get("task-a")).toMatchObject({ openWaits: 0 });
});

test("what came for a task goes with it", async () => {
  const fresh = await freshSchema();
  const store = await openStore(fresh, "one");
  await store.write(createRunning("a"));
  await Promise.all([
    store.write({
      type: "send_event",
      now: noon,
      id: "task-a",
      name: "n",
      value: "1",
      dedupeId: null,
      limit: 9,
    }),
    store.write({ type: "settle", ...held("a"), outcome: done }),
    store.write({ type: "delete", now: noon, id: "task-a" }),
  ]);
  expect(await run(fresh, `SELECT * FROM ${fresh.schema}.event`)).toEqual([]);
});

test("what is written and removed in one group leaves nothing", async () => {
  const fresh = await freshSchema();
  const store = await openStore(fresh, "one");
  const entry = { key: "k", value: "1", error: null };
  await Promise.all([
    store.write(createRunning("a")),
    store.write({ type: "record_step", ...held("a"), ...entry }),
    store.write({ type: "settle", ...held("a"), outcome: done }),
    store.write({ type: "delete", now: noon, id: "task-a" }),
    store.write(createRunning("b")),
  ]);
  const ids = async (table: string, column = "task_id") =>
    (await run(fresh, `SELECT ${column} FROM ${fresh.schema}.${table}`)).flat();
  expect(await ids("task", "id")).toEqual(["task-b"]);
  expect(await ids("request")).toEqual(["task-b"]);
  expect([...(await ids("journal")), ...(await ids("outcome"))]).toEqual([]);
});

test("what operators say several times in one group counts as it was said last", async () => {
  const store = await openStore(await freshSchema(), "one");
  const pause = (actor: string) => store.write({ type: "pause_tool", now: noon, tool: "add", actor });
  const mark = (note: string | null) =>
    store.write({
      type: "mark_cause",
      now: noon,
      mark: { cause: "c1", muted: false, note, actor: "ann", at: noon },
    });
  await Promise.all([
    pause("ann"),
    pause("bob"),
    store.write({ type: "resume_tool", now: noon, tool: "add" }),
    pause("cid"),
    pause("dan"),
    mark("first"),
    mark(null),
    mark("second"),
    mark("third"),
  ]);
  expect(await store.admin?.paused()).toEqual([{ tool: "add", since: noon, actor: "cid" }]);
  expect(await store.admin?.causes.marks()).toMatchObject([{ cause: "c1", note: "third" }]);
});

test("the journal keeps the order of first writes where a task is run again", async () => {
  const store = await openStore(await freshSchema(), "one");
  await store.write(createRunning("a"));
  await store.write({ type: "retry_step", ...held("a"), key: "k1", error: "e", tries: 1, until: noon });
  await store.write({ type: "record_step", ...held("a"), key: "k2", value: "2", error: null });
  await Promise.all([
    store.write({ type: "record_step", ...held("a"), key: "k1", value: "1", error: null }),
    store.write({ type: "retry", ...held("a"), until: noon, statusMessage: "again" }),
  ]);
  const { entries } = await store.journal("task-a", "", 9);
  expect(entries.toSorted((a, b) => a.place - b.place).map(({ key }) => key)).toEqual(["k1", "k2"]);
});

test("a damaged task with a key fails the call under its key and no other command", async () => {
  const fresh = await freshSchema();
  const store = await openStore(fresh, "one");
  await store.write(createQueued("a", { idempotencyKey: "k" }));
  await run(fresh, `UPDATE ${fresh.schema}.task SET attempts = '{}'`);
  const [same, other] = await Promise.allSettled([
    store.write(createQueued("b", { idempotencyKey: "k" })),
    store.write(createQueued("c")),
  ]);
  expect(other).toMatchObject({ status: "fulfilled", value: { created: true } });
  expect(same).toMatchObject({ status: "rejected", reason: { code: "task_unreadable" } });
});

test("a child whose wire id is taken is refused, with nothing else of its group", async () => {
  const store = await openStore(await freshSchema(), "one");
  await store.write(createRunning("a"));
  await store.write(createQueued("b", { wireId: "wire" }));
  const [called, other] = await Promise.all([
    store.write({
      type: "call_tool",
      ...held("a"),
      key: "k",
      requestHash: "h",
      child: sampleTask("child", { wireId: "wire" }),
      request: sampleRequest,
      cancelGraceMs: 0,
    }),
    store.write(createQueued("c")),
  ]);
  expect(called).toEqual({ ok: false, reason: "taken" });
  expect(other).toMatchObject({ ok: true });
});

test("processes that begin at the same time keep one secret", async () => {
  const fresh = await freshSchema();
  const stores = await Promise.all(["one", "two", "three"].map((id) => openStore(fresh, id)));
  for (let round = 0; round < 10; round++) {
    const kept = await Promise.all(
      stores.map((store, n) =>
        store.write({ type: "keep_secret", now: noon, name: `s${round}`, value: `of ${n}` }),
      ),
    );
    expect(new Set(kept.map((each) => each.ok && each.value)).size).toBe(1);
  }
});

test("what a database cannot hold fails alone, and others get their own answers", async () => {
  const store = await openStore(await freshSchema(), "one");
  const random = Array.from({ length: 4_000 }, () => Math.random().toString(36).slice(2)).join("");
  const names = ["a", "b", "c", "d", "e"];
  const answers = await Promise.allSettled(
    names.map((name) =>
      store.write(createQueued(name, { idempotencyKey: name === "c" ? random : `key ${name}` })),
    ),
  );
  for (const [index, name] of names.entries()) {
    const answer = answers[index];
    if (name === "c" && answer?.status === "rejected") expect(answer.reason).toBeInstanceOf(HoldfastError);
    else expect(answer).toMatchObject({ status: "fulfilled", value: { task: { id: `task-${name}` } } });
  }
});

test("tasks are woken in the order in which their time came", async () => {
  const store = await openStore(await freshSchema(), "one");
  for (const [name, until] of [
    ["a", noon + 2],
    ["b", noon + 1],
  ] as const) {
    await store.write(createRunning(name));
    await store.write({ type: "release", ...held(name), until });
  }
  const told: string[] = [];
  store.subscribe((changes) => {
    if (changes !== "gap") told.push(...changes.map(({ id }) => id));
  });
  expect(await store.write({ type: "wake", now: noon + 9, limit: 9 })).toMatchObject({ woken: 2 });
  expect(told).toEqual(["task-b", "task-a"]);
});

test("a store says how many commands were committed together", async () => {
  const store = await openStore(await freshSchema(), "one");
  const sizes: number[] = [];
  store.onCommit?.((commands) => sizes.push(commands));
  await Promise.all([store.write(createQueued("a")), store.write(createQueued("b"))]);
  await store.write(createQueued("c"));
  expect(sizes).toEqual([2, 1]);
});
