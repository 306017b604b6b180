import { randomBytes } from "node:crypto";
import { postgresStore, type PostgresStoreOptions } from "holdfast/postgres";
import type { TaskStore } from "holdfast/store";
import { expect, onTestFinished, test } from "vitest";
import { createQueued, createRunning, noon, owner } from "../../contract/sample-task.ts";
import { withTasks } from "../../kit/messages.ts";
import { serve } from "../../kit/server.ts";
import { StatelessClient, type WireResponse } from "../../kit/stateless-client.ts";
import { DatabaseProxy } from "../../postgres/database-proxy.ts";
import { OwnServer } from "../../postgres/own-server.ts";
import { FreshSchema } from "../../postgres/test-database.ts";
import { withClient } from "../../postgres/with-client.ts";

const failed = { code: "store_failed" };
const timeoutMs = 1_000;
/** What a call may take in all: its statement and its answer are waited for, and on a busy machine timers are late. */
const patienceMs = 4 * timeoutMs + 2_000;

/** A store whose connections all go through a proxy. */
async function storeBehindProxy(options: PostgresStoreOptions = {}, database?: OwnServer) {
  const { url, schema } =
    database === undefined ? await freshSchema() : { url: database.url, schema: "holdfast" };
  const proxy = await DatabaseProxy.before(url);
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  const store = await opened(proxy.url, { schema, timeoutMs, directUrl: url, ...options });
  const states = (): Promise<Record<string, string>> =>
    withClient(url, async (client) => {
      const { rows } = await client.query<{ id: string; state: string }>(
        `select id, state from ${schema}.task`,
      );
      return Object.fromEntries(rows.map(({ id, state }) => [id, state]));
    });
  return { store, proxy, url, schema, states };
}

async function freshSchema(): Promise<FreshSchema> {
  const fresh = await FreshSchema.inSharedDatabase();
  onTestFinished(() => fresh.drop());
  return fresh;
}

async function opened(url: string, options: PostgresStoreOptions): Promise<TaskStore> {
  const store = postgresStore(url, options);
  await store.open({ id: owner, handlers: [] });
  onTestFinished(() => store.close());
  return store;
}

/** Rejects in time, with the code of the store. */
async function expectRefusal(call: Promise<unknown>): Promise<void> {
  const begun = performance.now();
  await expect(call).rejects.toMatchObject(failed);
  expect(performance.now() - begun).toBeLessThan(patienceMs);
}

test("a database that says nothing is not waited for without end, and used again when it speaks", async () => {
  const { store, proxy, states } = await storeBehindProxy();
  await store.write(createQueued("a"));
  proxy.fallSilent();
  await Promise.all([
    expectRefusal(store.get("task-a")),
    expectRefusal(store.write(createQueued("b"))),
    expectRefusal(store.renew()),
    expectRefusal(store.list({ generation: "2026-07-28" }, null, 10, noon)),
  ]);
  await expectRefusal(store.write(createQueued("c")));
  proxy.speak();
  await store.write(createQueued("d"));
  expect(await store.get("task-a")).toBeDefined();
  expect(Object.keys(await states()).sort()).toEqual(["task-a", "task-d"]);
});

test("connections that are cut are replaced, and nobody hears of it", async () => {
  const { store, proxy } = await storeBehindProxy();
  await store.write(createQueued("a"));
  proxy.cut();
  await Promise.all([store.get("task-a"), store.write(createQueued("b")), store.renew()]);
});

test("a task that a stranger holds is not waited for without end, and holds up no others for ever", async () => {
  const { store, url, schema } = await storeBehindProxy();
  await store.write(createQueued("held"));
  await withClient(url, async (client) => {
    await client.query("begin");
    await client.query(`select 1 from ${schema}.task where id = 'task-held' for update`);
    const cancel = { type: "cancel", now: noon, id: "task-held", graceMs: 0 } as const;
    await expectRefusal(store.write(cancel));
    await store.write(createQueued("later"));
    await client.query("rollback");
    expect(await store.write(cancel)).toMatchObject({ ok: true });
  });
});

test("where only the answer to a commit is lost, the caller has its answer", async () => {
  const { store, proxy } = await storeBehindProxy();
  const lost = proxy.loseCommit("answer");
  const writing = store.write(createQueued("a"));
  await lost;
  expect(await writing).toMatchObject({ ok: true, created: true });
  expect(await store.get("task-a")).toBeDefined();
});

test("where a commit does not arrive, nothing is acknowledged", async () => {
  const { store, proxy, states } = await storeBehindProxy();
  const lost = proxy.loseCommit("commit");
  const writing = store.write(createQueued("a"));
  await Promise.all([lost, expectRefusal(writing)]);
  await store.write(createQueued("b"));
  expect(await states()).toEqual({ "task-b": "queued" });
});

test("of a group that is written in parts, each has what became of its own", async () => {
  const { store, proxy, states } = await storeBehindProxy();
  const lost = proxy.loseCommit("commit", 4); // of the last part
  const tooLong = createQueued("b", { idempotencyKey: randomBytes(6_000).toString("hex") }); // for an index
  const writing = Promise.allSettled(
    [createQueued("a"), tooLong, createQueued("c")].map((command) => store.write(command)),
  );
  await lost;
  const made = (await writing).flatMap(({ status }, n) => (status === "fulfilled" ? `task-${"abc"[n]}` : []));
  expect(made).toEqual(["task-a"]);
  expect(Object.keys(await states()).sort()).toEqual(made);
});

test("a task whose maker was told that it failed is for whoever claims it when it was made all the same", async () => {
  const { store, proxy, states } = await storeBehindProxy();
  const lost = proxy.loseCommit("late");
  const making = store.write(createRunning("a"));
  await lost;
  // What comes meanwhile is not written, nor waits for ever.
  await Promise.all([expectRefusal(making), expectRefusal(store.write(createQueued("b")))]);
  proxy.deliver();
  await expect.poll(states, { timeout: patienceMs }).toEqual({ "task-a": "queued" });
  await store.write(createQueued("c"));
});

test("writes that arrive after their maker was told that they failed change nothing", async () => {
  const { store, proxy, states, url, schema } = await storeBehindProxy();
  const lost = proxy.loseCommit("late writes");
  const making = store.write(createQueued("a"));
  await Promise.all([lost, expectRefusal(making)]);
  proxy.deliver();
  const isUnderWay = `select 1 from pg_stat_activity where state <> 'idle' and pid <> pg_backend_pid()
    and query like '%${schema}%'`;
  await expect
    .poll(() => withClient(url, async (client) => (await client.query(isUnderWay)).rowCount), {
      timeout: patienceMs,
    })
    .toBe(0);
  await store.write(createQueued("b"));
  expect(await states()).toEqual({ "task-b": "queued" });
});

test("a commit that a crash undid is not taken for another one with its number", async () => {
  await using database = await OwnServer.start();
  const { store, proxy, states, url } = await storeBehindProxy({ timeoutMs: 10_000 }, database);
  await store.write(createQueued("a"));
  const lost = proxy.loseCommit("commit").then(() => proxy.fallSilent());
  const writing = store.write(createQueued("b")).catch((error: unknown) => error);
  await lost;
  await database.stop("immediate");
  await database.start();
  await withClient(url, async (client) => {
    for (let n = 0; n < 10; n++) await client.query("select pg_current_xact_id()");
  });
  proxy.speak();
  expect(await writing).toMatchObject(failed);
  await store.write(createQueued("c"));
  expect(Object.keys(await states()).sort()).toEqual(["task-a", "task-c"]);
});

test("somebody who keeps a task locked holds up its commands, and none of other tasks", async () => {
  const { url, schema } = await freshSchema();
  const store = await opened(url, { schema, timeoutMs: 20_000 });
  for (const name of ["a", "b"]) await store.write(createRunning(name));
  const mark = (id: string) => store.write({ type: "mark", now: noon, id, token: "t1" });
  await withClient(url, async (client) => {
    await client.query("begin");
    await client.query(`select 1 from ${schema}.task where id = 'task-a' for update`);
    // In one group; and again, when the lock is known.
    for (let round = 0; round < 2; round++) {
      const [a, b] = await Promise.allSettled([mark("task-a"), mark("task-b")]);
      expect(a).toMatchObject({ status: "rejected", reason: failed });
      expect(b).toMatchObject({ status: "fulfilled", value: { ok: true } });
    }
    await client.query("rollback");
  });
  expect(await mark("task-a")).toMatchObject({ ok: true });
});

test("a server tells its clients and its load balancer, and serves again by itself", async () => {
  const { url, schema } = await freshSchema();
  const proxy = await DatabaseProxy.before(url);
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  const { http } = await serve({
    tools: (tasks) => tasks.tool("greet", {}, () => ({ content: [{ type: "text", text: "Hello" }] })),
    options: { store: postgresStore(proxy.url, { schema, timeoutMs }) },
  });
  const call = (): Promise<WireResponse> => {
    const peer = new StatelessClient(http.url);
    return peer.send("tools/call", { name: "greet", arguments: {} }, { capabilities: withTasks, meta: key });
  };
  const key = { "holdfast/idempotencyKey": "the-only-call-of-this-test" };
  const ready = async (): Promise<number> => (await fetch(new URL("/readyz", http.url))).status;
  await expect.poll(ready, { timeout: patienceMs }).toBe(200);
  proxy.fallSilent();
  expect(await call()).toMatchObject({ error: { code: -32_603, message: expect.stringContaining("store") } });
  expect(await ready()).toBe(503);
  proxy.cut();
  proxy.speak();
  await expect.poll(ready, { timeout: patienceMs }).toBe(200);
  expect(await call()).toMatchObject({ result: { status: "working" } });
});
