import { Client } from "pg";
import { expect, onTestFinished, test, vi } from "vitest";
import { postgresStore } from "../../../src/store/postgres/postgres-store.ts";
import type { TaskStore } from "../../../src/store/store.ts";
import { aHandler, createQueued, createRunning, noon } from "../../../src/testing/sample-task.ts";
import { TaskNode } from "../../../bench/postgres/task-node.ts";
import { FreshSchema } from "../../postgres/test-database.ts";
import { withClient } from "../../postgres/with-client.ts";

// A process that runs a task from its begin knows all of it, and writes without reading.

async function openStore(fresh: FreshSchema, id: string): Promise<TaskStore> {
  const store = postgresStore(fresh.url, { schema: fresh.schema });
  await store.open({ id, handlers: [aHandler] });
  onTestFinished(() => store.close());
  return store;
}

async function stores(...ids: readonly string[]): Promise<TaskStore[]> {
  const fresh = await FreshSchema.inSharedDatabase();
  const opened: TaskStore[] = [];
  for (const id of ids) opened.push(await openStore(fresh, id));
  onTestFinished(() => fresh.drop());
  return opened;
}

/** The first statements of a connection, and those with which a store closes. */
const isOfConnection = (sql: string): boolean => sql.startsWith("SET ") || sql.includes("pg_is_in_recovery");
const isOfClosing = (sql: string): boolean => sql.includes("'-infinity'") || sql.includes('"gap":1');

/** The statements that are sent while `work` is under way, with their values. */
async function statementsOf(work: () => Promise<unknown>): Promise<readonly string[]> {
  const query = vi.spyOn(Client.prototype, "query");
  onTestFinished(() => query.mockRestore());
  await work();
  const sent = query.mock.calls.map(([config]: unknown[]) => {
    const { text, values = [] } = config as { readonly text: string; readonly values?: unknown[] };
    return typeof config === "string" ? config : `${text} ${values.map(String).join()}`;
  });
  query.mockRestore();
  return sent.filter((sql) => !isOfConnection(sql));
}

const held = (name: string) => ({ now: noon, id: `task-${name}`, token: "t1" }) as const;
const step = (name: string, key: string) =>
  ({ type: "record_step", ...held(name), key, value: `"${key}"`, error: null }) as const;
const done = { kind: "result", body: "{}" } as const;

async function live(store: TaskStore, name: string): Promise<void> {
  await store.write(createRunning(name));
  await store.write({ type: "mark", ...held(name) });
  await store.write(step(name, "work"));
  await store.write({ type: "settle", ...held(name), outcome: done });
}

test("the life of a task with one step takes 15 statements at most", async () => {
  const [store] = await stores("one");
  if (store === undefined) return;
  await live(store, "first"); // connects
  // What others have to know is sent before it closes.
  const sent = await statementsOf(async () => {
    await live(store, "a");
    await store.close();
  });
  expect(sent.filter((sql) => !isOfClosing(sql)).length).toBeLessThanOrEqual(15);
});

test("a process takes 15 statements at most for a task with one step, from its creation to the last look at it", async () => {
  const fresh = await FreshSchema.inSharedDatabase();
  onTestFinished(() => fresh.drop());
  const store = postgresStore(fresh.url, { schema: fresh.schema });
  await using node = await TaskNode.start(store, { hasStep: true });
  await node.life(); // connects
  const counts: number[] = [];
  // Renewals and looks for other work come between some.
  for (let lives = 0; lives < 10; lives++)
    counts.push((await statementsOf(() => node.life())).filter((sql) => !isOfClosing(sql)).length);
  expect(Math.min(...counts)).toBeLessThanOrEqual(15);
});

test("what others do to a task in between counts, and nothing of it is lost", async () => {
  const [one, two] = await stores("one", "two");
  if (one === undefined || two === undefined) return;
  await one.write(createRunning("a"));
  await one.write({ type: "mark", ...held("a") });
  await two.write({ type: "request_cancel", now: noon, id: "task-a", cancelBy: noon + 1_000 });
  const before = await two.get("task-a");
  expect(before).toMatchObject({ cancelBy: noon + 1_000, journalled: true });
  expect(await one.write(step("a", "work"))).toMatchObject({ ok: true });
  expect(await one.get("task-a")).toMatchObject({
    cancelBy: noon + 1_000,
    version: (before?.version ?? 0) + 1,
  });
  await two.write({ type: "cancel", now: noon, id: "task-a" });
  expect(await one.write(step("a", "more"))).toMatchObject({ ok: false });
  expect(await one.journal("task-a", "", 10)).toMatchObject({ entries: [{ key: "work" }] });
});

test("a step that is recorded twice counts once", async () => {
  const [store] = await stores("one");
  await store?.write(createRunning("a"));
  await store?.write({ type: "mark", ...held("a") });
  const [first, again] = await Promise.all([
    store?.write(step("a", "work")),
    store?.write({ ...step("a", "work"), value: '"other"' }),
  ]);
  expect([first, again]).toMatchObject([{ ok: true }, { ok: false, reason: "duplicate" }]);
  expect(await store?.write({ ...step("a", "work"), value: '"later"' })).toMatchObject({ ok: false });
  expect(await store?.journalEntry("task-a", "work")).toMatchObject({ value: '"work"' });
});

test("a task that was claimed for the first time is known, and one that somebody began is read", async () => {
  const [one, two] = await stores("one", "two");
  if (one === undefined || two === undefined) return;
  await one.write({ ...createQueued("a"), forAnyOwner: true });
  const claim = { type: "claim", now: noon, handlers: [aHandler] } as const;
  expect(await two.write({ ...claim, tokens: ["t1"] })).toMatchObject({ tasks: [{ id: "task-a" }] });
  const known = await statementsOf(() => two.write(step("a", "work")));
  expect(known.filter((sql) => sql.startsWith("BEGIN"))).toEqual([]);
  await two.write({ type: "release", ...held("a") });
  expect(await one.write({ ...claim, tokens: ["t2"] })).toMatchObject({ tasks: [{ id: "task-a" }] });
  const again = await statementsOf(() => one.write({ ...step("a", "work"), token: "t2" }));
  expect(again.some((sql) => sql.startsWith("BEGIN"))).toBe(true);
  expect(await one.journalEntry("task-a", "work")).toMatchObject({ value: '"work"' });
});

test("an owner that was declared dead writes nothing more to what it knew", async () => {
  const fresh = await FreshSchema.inSharedDatabase();
  const one = await openStore(fresh, "one");
  onTestFinished(() => fresh.drop());
  await one.write(createRunning("a"));
  await withClient(fresh.url, (client) =>
    client.query(`UPDATE ${fresh.schema}.owner SET retired = 1 WHERE id = 'one'`),
  );
  await expect(one.write({ type: "settle", ...held("a"), outcome: done })).rejects.toMatchObject({
    code: "store_lost",
  });
  expect(await one.get("task-a")).toMatchObject({ state: "running" });
});

test.each(["of the task", "of another task"])(
  "what a failover has undone is not taken for known, although the version is the same again, when the next write is one %s",
  async (which) => {
    const fresh = await FreshSchema.inSharedDatabase();
    const [one, two] = [await openStore(fresh, "one"), await openStore(fresh, "two")];
    onTestFinished(() => fresh.drop());
    const sql = (text: string) => withClient(fresh.url, (client) => client.query(text));
    await one.write(createRunning("a"));
    await one.write({ type: "mark", ...held("a") });
    const saved = ["task", "journal", "committed"].map((name) => `${fresh.schema}.${name}`);
    for (const table of saved) await sql(`CREATE TABLE ${table}_before AS TABLE ${table}`);
    await one.write(step("a", "lost"));
    const lost = await one.get("task-a");
    // As a server that has not received it, where the task is then changed in another way.
    for (const table of saved)
      await sql(`BEGIN; DELETE FROM ${table}; INSERT INTO ${table} SELECT * FROM ${table}_before; COMMIT`);
    await two.write({ type: "request_cancel", now: noon, id: "task-a", cancelBy: noon + 1_000 });
    expect(await one.get("task-a")).toMatchObject({ version: lost?.version, cancelBy: noon + 1_000 });
    if (which === "of another task") await one.write(createQueued("b"));
    expect(await one.write(step("a", "next"))).toMatchObject({
      ok: true,
      task: { cancelRequestedAt: noon, cancelBy: noon + 1_000 },
    });
  },
);
