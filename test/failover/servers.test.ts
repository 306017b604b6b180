import { randomUUID } from "node:crypto";
import { postgresStore, type PostgresStoreOptions } from "holdfast/postgres";
import type { TaskStore } from "holdfast/store";
import { expect, onTestFinished, test } from "vitest";
import { createQueued } from "../contract/sample-task.ts";
import { Pair } from "./pair.ts";

const timeoutMs = 1_000;
const patience = { timeout: 30_000 };

async function startPair(kind: "synchronous" | "asynchronous"): Promise<Pair> {
  const pair = await Pair.start(kind);
  onTestFinished(() => pair[Symbol.asyncDispose]());
  return pair;
}

async function opened(url: string, options: PostgresStoreOptions = {}): Promise<TaskStore> {
  const store = postgresStore(url, { timeoutMs, ...options });
  await store.open({ id: randomUUID(), handlers: [] });
  onTestFinished(() => store.close());
  return store;
}

/** How many connections of stores lead to the standby. */
const strayed = async (pair: Pair): Promise<number> => {
  const sql = "select 1 from pg_stat_activity where application_name like 'holdfast%'";
  return (await pair.ask(sql, pair.standby)).length;
};

test("a store keeps no connection to a server that only reads, and reads nothing there", async () => {
  const pair = await startPair("synchronous");
  const store = await opened(pair.wire.url);
  await store.write(createQueued("a"));
  pair.wire.lead(pair.standby.url);
  pair.wire.cut();
  const standby = expect.stringContaining("leads to a standby");
  for (const ask of [() => store.write(createQueued("b")), () => store.get("task-a"), () => store.renew()])
    await expect(ask()).rejects.toMatchObject({ code: "store_failed", message: standby });
  await expect.poll(() => strayed(pair), patience).toBe(0);
  pair.wire.lead(pair.primary.url);
  await store.write(createQueued("b"));
  expect(await store.get("task-a")).toBeDefined();
});

test("once a pooled connection refuses a write, all of them are asked where they lead", async () => {
  const pair = await startPair("asynchronous");
  const store = await opened(pair.wire.url);
  await Promise.all(Array.from({ length: 5 }, () => store.get("none")));
  // As a pooler does, whose own connections go elsewhere while its clients' stay.
  await pair.ask("alter system set default_transaction_read_only = on");
  await pair.ask("select pg_reload_conf()");
  const readOnly = expect.stringContaining("takes no writes now");
  await expect
    .poll(() => store.write(createQueued("a")).catch((error: unknown) => error), patience)
    .toMatchObject({ code: "store_failed", message: readOnly });
  expect(await store.get("none")).toBeUndefined();
});

test("a server that only reads keeps no caller waiting, not even behind a commit whose answer was lost", async () => {
  const pair = await startPair("synchronous");
  const store = await opened(pair.wire.url, { timeoutMs: 60_000 });
  await store.write(createQueued("first"));
  pair.wire.lead(pair.standby.url);
  const lost = pair.wire.loseCommit("answer");
  const calls = [store.write(createQueued("a")), lost.then(() => store.write(createQueued("b")))];
  await lost;
  pair.wire.cut();
  for (const call of calls) await expect(call).rejects.toMatchObject({ code: "store_failed" });
  pair.wire.lead(pair.primary.url);
  await store.write(createQueued("c"));
  const names = ["first", "a", "b", "c"];
  const there = await Promise.all(names.map((name) => store.get(`task-${name}`)));
  expect(names.filter((_, n) => there[n] !== undefined)).toEqual(["first", "a", "c"]);
});

test("of several hosts in the URL, the one that takes writes is used, also after a failover", async () => {
  const pair = await startPair("synchronous");
  const [primary, standby] = [new URL(pair.primary.url), new URL(pair.standby.url)];
  const url = `postgres://${primary.username}@${standby.host},${primary.host}/postgres`;
  const store = await opened(url);
  await store.write(createQueued("a"));
  await pair.lose();
  await pair.promote();
  await expect.poll(() => store.write(createQueued("b")).catch(() => undefined), patience).toBeDefined();
  expect(await store.get("task-a")).toBeDefined();
});

test.each(["pg_terminate_backend", "pg_cancel_backend"] as const)(
  "what a standby may not have is not acknowledged when the wait for it is ended by %s",
  async (how) => {
    const pair = await startPair("synchronous");
    const store = await opened(pair.wire.url);
    const other = await opened(pair.wire.url);
    const call = (name: string) => createQueued(name, { idempotencyKey: `key-${name}` });
    await store.write(call("a"));
    pair.replication.fallSilent();
    const [written] = await Promise.allSettled([store.write(call("b")), pair.endWaits(how)]);
    expect(written).toMatchObject({ reason: { code: "store_failed" } });
    // It is on the primary server, where its caller may ask again, at any node.
    await pair.until("select 1 from holdfast.task where id = 'task-b'");
    const repeated = [store, other].map((each) => each.write(call("b")).catch(() => "refused"));
    expect(await Promise.all(repeated)).toEqual(["refused", "refused"]);
    await pair.lose();
    await pair.promote();
    await expect.poll(() => store.get("task-a").catch(() => undefined), patience).toBeDefined();
    expect(await store.get("task-b")).toBeUndefined();
    // And nothing waits for the old server any more.
    expect(await store.write(call("b"))).toMatchObject({ created: true });
  },
);
