import assert from "node:assert/strict";
import type { TaskStore } from "../store/store.ts";
import type { CommandResult, TaskCommand } from "../task/command.ts";
import { assertMembers, ownerCases, storeCases } from "./store-case.ts";
import { createRunning, noon, owner, changesOf } from "./sample-task.ts";

const id = "task-a";

const about = { now: noon, id };

const lives = { expiry: { from: "created", ms: 100 } } as const;

/** A running task, with a caller of the store's owner waiting for it. */
async function awaited(store: TaskStore): Promise<void> {
  await store.write({ ...createRunning("a", { ...lives, idempotencyKey: "call" }), awaited: true });
}

function join(store: TaskStore, how: Partial<TaskCommand<"join">> = {}): Promise<CommandResult<"join">> {
  return store.write({ type: "join", ...about, alone: true, ...how });
}

function leave(store: TaskStore, how: Partial<TaskCommand<"leave">> = {}): Promise<CommandResult<"leave">> {
  return store.write({ type: "leave", ...about, stays: false, promised: false, cancelBy: null, ...how });
}

function cancelCall(store: TaskStore): Promise<CommandResult<"cancel">> {
  return store.write({ type: "cancel", ...about, unlessWanted: true });
}

async function settle(store: TaskStore): Promise<void> {
  await store.write({ type: "settle", ...about, token: "t1", outcome: { kind: "result", body: "{}" } });
}

const refused = { ok: false, reason: "awaited" };

export const callerCases = storeCases("callers", {
  "a task shows whether callers wait for it, and whether one may return": async ({ store }) => {
    await store.write(createRunning("b"));
    assertMembers(await store.get("task-b"), { awaitedBy: [], promised: false });
    await store.write({ ...createRunning("c"), awaited: true, promised: true });
    assertMembers(await store.get("task-c"), { awaitedBy: [owner], promised: true });
    await awaited(store);
    assertMembers(await store.get(id), { awaitedBy: [owner], promised: false, version: 1 });
    await leave(store);
    assertMembers(await store.get(id), { awaitedBy: [], promised: false, version: 2 });
    await join(store);
    await leave(store, { stays: true, promised: true });
    assertMembers(await store.get(id), { awaitedBy: [owner], promised: true, version: 4 });
    await leave(store);
    assertMembers(await store.get(id), { awaitedBy: [], promised: true, version: 5 });
  },

  "known facts are not announced again": async ({ store }) => {
    await awaited(store);
    const seen = changesOf(store);
    await join(store);
    await leave(store, { stays: true });
    assert.deepEqual(seen, []);
    await leave(store);
    await leave(store);
    assert.deepEqual(seen, [{ id, version: 2 }]);
    assert.deepEqual(await leave(store, { id: "task-x" }), { ok: false, reason: "unknown" });
  },

  "callers of one process do not exclude each other": async ({ store }) => {
    await awaited(store);
    assertMembers(await join(store), { ok: true, task: { awaitedBy: [owner] } });
    await settle(store);
    assertMembers(await join(store), { ok: true, task: { awaitedBy: [owner] } });
  },

  "a task can be joined by its key until its result was delivered": async ({ store }) => {
    await awaited(store);
    assertMembers(await join(store, { key: "call" }), { ok: true });
    assert.deepEqual(await join(store, { key: "other" }), { ok: false, reason: "state" });
    await settle(store);
    assertMembers(await join(store, { key: "call" }), { ok: true });
    const seen = changesOf(store);
    await store.write({ type: "release_key", ...about });
    assert.deepEqual(await join(store, { key: "call" }), { ok: false, reason: "state" });
    assertMembers(await store.get(id), { awaitedBy: [], idempotencyKey: null });
    assert.deepEqual(
      seen.map((change) => change.id),
      [id],
    ); // callers that wait elsewhere have to know
    assert.deepEqual(await join(store, { id: "task-x" }), { ok: false, reason: "unknown" });
  },

  "a task is cancelled after all callers left, unless one may return": async ({ store }) => {
    await awaited(store);
    assertMembers(await leave(store, { cancelBy: noon + 20 }), {
      task: { cancelBy: noon + 20, sweepAt: noon + 20 },
    });
    assertMembers(await join(store), { task: { cancelBy: null, sweepAt: noon + 100 } });
    await leave(store, { promised: true });
    assertMembers(await leave(store, { cancelBy: noon + 20 }), {
      task: { cancelBy: null, sweepAt: noon + 100 },
    });
    assert.deepEqual(await cancelCall(store), refused);
    await store.write({ ...createRunning("b"), awaited: true });
    assertMembers(await store.write({ type: "cancel", now: noon, id: "task-b", unlessWanted: true }), {
      task: { state: "cancelled" },
    });
  },

  "a requested cancel happens whatever callers join or leave": async ({ store }) => {
    await awaited(store);
    await store.write({ type: "request_cancel", ...about, cancelBy: noon + 10 });
    assertMembers(await leave(store, { cancelBy: noon + 20 }), { task: { cancelBy: noon + 10 } });
    assertMembers(await join(store), { task: { cancelBy: noon + 10, sweepAt: noon + 10 } });
  },

  "a delivered result is kept while a caller may return for it": async ({ store }) => {
    await awaited(store);
    await leave(store, { promised: true });
    await settle(store);
    await store.write({ type: "release_key", ...about, deleteBy: noon + 10 });
    assertMembers(await store.get(id), { idempotencyKey: null, sweepAt: noon + 100 });
  },
});

export const sharedCallerCases = ownerCases("callers", {
  "an exclusive call does not join a task that another owner's callers wait for": async ({
    store,
    join: open,
  }) => {
    const { store: other, owner: second } = await open();
    await awaited(store);
    assert.deepEqual(await join(other), refused);
    await leave(store);
    assertMembers(await join(other), { task: { awaitedBy: [second] } });
    assert.deepEqual(await join(store), refused);
    await leave(other, { promised: true });
    assertMembers(await join(store), { task: { awaitedBy: [owner], promised: true } });
  },

  "of two owners that join exclusively at once, one succeeds": async ({ store, join: open }) => {
    const { store: other } = await open();
    await awaited(store);
    await leave(store);
    const both = await Promise.all([join(store), join(other)]);
    assert.equal(both.filter(({ ok }) => ok).length, 1);
  },

  "shared calls can wait at several owners": async ({ store, join: open }) => {
    const { store: other, owner: second } = await open();
    await awaited(store);
    assertMembers(await join(other, { alone: false }), { task: { awaitedBy: [owner, second] } });
    await leave(other, { stays: true, promised: true });
    assertMembers(await store.get(id), { awaitedBy: [owner, second], promised: true });
    await leave(store);
    assertMembers(await store.get(id), { awaitedBy: [second] });
  },

  "a task whose result is being delivered by another owner cannot be joined": async ({
    store,
    join: open,
  }) => {
    const { store: other } = await open();
    await awaited(store);
    await settle(store);
    for (const alone of [true, false]) assert.deepEqual(await join(other, { alone }), refused);
    await leave(store); // it was lost
    assertMembers(await join(other, { alone: false }), { ok: true });
  },

  "a task is not cancelled while another owner's callers wait": async ({ store, join: open }) => {
    const { store: other } = await open();
    await awaited(store);
    await join(other, { alone: false });
    assertMembers(await leave(store, { cancelBy: noon + 20 }), { task: { cancelBy: null } });
    await join(store, { alone: false });
    assert.deepEqual(await cancelCall(store), refused);
    await leave(other);
    assertMembers(await cancelCall(store), { task: { state: "cancelled" } });
  },

  "callers of a dead owner no longer count": async ({ store, join: open, kill }) => {
    const { store: lost, owner: dead } = await open();
    await awaited(lost);
    assert.deepEqual(await join(store), refused);
    await kill(dead);
    assertMembers(await join(store), { task: { awaitedBy: [owner] } });
    const { store: lostToo, owner: deadToo } = await open();
    await join(lostToo, { alone: false });
    await kill(deadToo);
    assertMembers(await cancelCall(store), { task: { state: "cancelled" } });
  },

  "other owners are notified of waiting callers": async ({ store, join: open }) => {
    const { store: other } = await open();
    await awaited(store);
    const notified = Promise.withResolvers<void>();
    const stop = other.subscribe((changes) => {
      if (changes !== "gap" && changes.some((change) => change.id === id)) notified.resolve();
    });
    await leave(store);
    await notified.promise;
    stop();
    assertMembers(await other.get(id), { awaitedBy: [] });
  },
});
