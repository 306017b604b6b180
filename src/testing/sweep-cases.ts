import assert from "node:assert/strict";
import type { TaskCommand } from "../task/command.ts";
import type { Expiry } from "../task/expiry.ts";
import { assertMembers } from "./assert-members.ts";
import { latestTime } from "../task/time.ts";
import { createQueued, createRunning, noon } from "./sample-task.ts";
import { storeCases } from "./store-case.ts";
import { wholeJournal } from "./whole-journal.ts";

function lives(ms: number | null, from: Expiry["from"] = "created"): { readonly expiry: Expiry } {
  return { expiry: { from, ms } };
}

function finish(name: string): TaskCommand<"cancel"> {
  return { type: "cancel", now: noon, id: `task-${name}` };
}

function sweep(now: number, limit = 10): TaskCommand<"delete_expired"> {
  return { type: "delete_expired", now, limit };
}

function expire(now: number, visibleUntil: number): TaskCommand<"expire"> {
  const outcome = { kind: "error", body: "{}" } as const;
  return { type: "expire", now, id: "task-a", visibleUntil, outcome, statusMessage: "expired" };
}

export const sweepCases = storeCases("sweep", {
  "due names unfinished tasks at their end of life, earliest first": async ({ store }) => {
    await store.write(createQueued("a", lives(30)));
    await store.write(createRunning("b", lives(10)));
    await store.write(createQueued("c", lives(20)));
    await store.write(createQueued("d", lives(31)));
    await store.write(createQueued("e", lives(null)));
    await store.write(createQueued("f", lives(1, "terminal")));
    await store.write(createQueued("g", lives(5)));
    await store.write(finish("g"));
    assert.deepEqual(await store.due(noon + 30, 10), ["task-b", "task-c", "task-a"]);
    assert.deepEqual(await store.due(noon + 30, 2), ["task-b", "task-c"]);
    assert.deepEqual(await store.due(noon + 9, 10), []);
  },

  "a task that was extended is due later": async ({ store }) => {
    await store.write(createRunning("a", lives(10)));
    await store.write({ type: "update", now: noon, id: "task-a", token: "t1", changes: lives(50) });
    assert.deepEqual(await store.due(noon + 49, 10), []);
    assert.deepEqual(await store.due(noon + 50, 10), ["task-a"]);
    assert.deepEqual(await store.write(expire(noon + 49, noon + 99)), { ok: false, reason: "not_due" });
  },

  "a task that is to be cancelled is due then, and no more once that is taken back": async ({ store }) => {
    await store.write(createRunning("a", lives(100)));
    const about = { now: noon, id: "task-a" };
    const cancel = { type: "cancel", ...about, scheduled: true } as const;
    const leave = { type: "leave", ...about, stays: false, promised: false } as const;
    await store.write({ ...leave, cancelBy: noon + 20 });
    assertMembers(await store.get("task-a"), { cancelBy: noon + 20, sweepAt: noon + 20 });
    assert.equal(await store.nextSweepAt(noon), noon + 20);
    await store.write({ type: "join", ...about, alone: true });
    assertMembers(await store.get("task-a"), { cancelBy: null, sweepAt: noon + 100 });
    assert.deepEqual(await store.due(noon + 20, 10), []);
    assert.deepEqual(await store.write({ ...cancel, now: noon + 20 }), { ok: false, reason: "not_due" });

    await store.write({ ...leave, cancelBy: noon + 30 });
    assert.deepEqual(await store.due(noon + 30, 10), ["task-a"]);
    assert.deepEqual(await store.write(expire(noon + 30, noon + 99)), { ok: false, reason: "not_due" });
    assert.deepEqual(await store.write({ ...cancel, now: noon + 29 }), { ok: false, reason: "not_due" });
    const cancelled = await store.write({ ...cancel, now: noon + 30 });
    assertMembers(cancelled, { ok: true, task: { state: "cancelled", cancelBy: null, sweepAt: noon + 100 } });
    const late = await store.write({ ...leave, cancelBy: noon + 40 });
    assertMembers(late, { ok: true, task: { cancelBy: null, sweepAt: noon + 100 } });
  },

  "a task without an end of its own is due at the limit of its run": async ({ store }) => {
    await store.write(createRunning("a", { ...lives(20, "terminal"), runUntil: noon + 30 }));
    assert.equal(await store.nextSweepAt(noon), noon + 30);
    assert.deepEqual(await store.due(noon + 29, 10), []);
    assert.deepEqual(await store.due(noon + 30, 10), ["task-a"]);
    const expired = await store.write(expire(noon + 30, noon + 40));
    assertMembers(expired, { ok: true, task: { state: "settled", sweepAt: noon + 50 } });
  },

  "an expired task is settled, visible for a while, then deletable": async ({ store }) => {
    await store.write(createRunning("a", lives(10)));
    const expired = await store.write(expire(noon + 10, noon + 70));
    assertMembers(expired, { ok: true, task: { state: "settled", sweepAt: noon + 70 } });
    assert.deepEqual(await store.due(noon + 99, 10), []);
    assert.deepEqual(await store.write(sweep(noon + 69)), { ok: true, deleted: [] });
    assert.deepEqual(await store.write(sweep(noon + 70)), { ok: true, deleted: ["task-a"] });
  },

  "delete_expired takes finished tasks only, earliest first, up to its limit": async ({ store }) => {
    const lifetimes = { a: 30, b: 10, c: 20, d: 40 };
    for (const [name, ms] of Object.entries(lifetimes)) {
      await store.write(createQueued(name, lives(ms)));
      await store.write(finish(name));
    }
    await store.write(createQueued("e", lives(1)));
    await store.write(createQueued("f", lives(null)));
    await store.write(finish("f"));
    assert.deepEqual(await store.write(sweep(noon + 30, 2)), { ok: true, deleted: ["task-b", "task-c"] });
    assert.deepEqual(await store.write(sweep(noon + 30, 2)), { ok: true, deleted: ["task-a"] });
    assert.deepEqual(await store.write(sweep(noon + 30, 2)), { ok: true, deleted: [] });
    assertMembers(await store.get("task-e"), { state: "queued" });
    assertMembers(await store.get("task-f"), { state: "cancelled" });
  },

  "a deleted task leaves nothing, and its ids and keys are free again": async ({ store }) => {
    const create = createRunning("a", { ...lives(10), idempotencyKey: "i", wireId: "w" });
    await store.write(create);
    const held = { now: noon, id: "task-a", token: "t1" };
    await store.write({ type: "record_step", ...held, key: "k", value: "1", error: null });
    await store.write({ type: "settle", ...held, outcome: { kind: "result", body: "{}" } });
    await store.write(sweep(noon + 10));
    assert.equal(await store.get("task-a"), undefined);
    assert.equal(await store.snapshot("task-a"), undefined);
    assert.equal(await store.request("task-a"), undefined);
    assert.deepEqual(await wholeJournal(store, "task-a"), []);
    assertMembers(await store.write({ ...create, token: null }), { ok: true, created: true });
    assertMembers(await store.snapshot("task-a"), { outcome: null, task: { state: "queued" } });
    assert.deepEqual(await wholeJournal(store, "task-a"), []);
  },

  "what would end later than numbers are exact ends at the latest time there is": async ({ store }) => {
    const far = 1e17;
    const from = ["created", "terminal"] as const;
    for (const each of from) await store.write(createRunning(each, { ...lives(far, each), runUntil: far }));
    await store.write(createRunning("a", lives(10)));
    const held = { now: noon, id: "task-a", token: "t1" };
    const input = { key: "q", method: "elicitation/create", params: "{}" } as const;
    await store.write({ type: "open_input", ...held, input, requestHash: "h", deadlineAt: far });
    await store.write({ type: "sleep", ...held, key: "s", until: far });
    for (const { deadlineAt } of await wholeJournal(store, "task-a")) assert.equal(deadlineAt, latestTime);
    await store.write({ type: "update", ...held, changes: { ...lives(far), pollIntervalMs: far } });
    assertMembers(await store.get("task-a"), { pollIntervalMs: latestTime });

    assertMembers(
      await store.unfinished("", 9),
      Array.from({ length: 3 }, () => ({ sweepAt: latestTime })),
    );
    assert.equal(await store.nextSweepAt(noon), latestTime);
    for (const each of from) await store.write(finish(each));
    assertMembers(await store.get("task-created"), { sweepAt: latestTime });
    assertMembers(await store.get("task-terminal"), { sweepAt: latestTime });
    assertMembers(await store.write(expire(far, far)), { ok: true, task: { sweepAt: latestTime } });
    assert.equal((await store.list({ generation: "2026-07-28", principal: "ann" }, null, 9, noon)).length, 3);
  },

  "nextSweepAt passes over what is due already": async ({ store }) => {
    await store.write(createQueued("a", lives(10)));
    await store.write(createQueued("b", lives(10)));
    await store.write(createQueued("c", lives(20)));
    await store.write(finish("c"));
    assert.equal(await store.nextSweepAt(noon + 9), noon + 10);
    assert.equal(await store.nextSweepAt(noon + 10), noon + 20);
    assert.equal(await store.nextSweepAt(noon + 20), null);
  },

  "nextSweepAt is the earlier of expiry and deletion, and null where nothing is to come": async ({
    store,
  }) => {
    assert.equal(await store.nextSweepAt(noon), null);
    await store.write(createQueued("a", lives(null)));
    assert.equal(await store.nextSweepAt(noon), null);
    await store.write(createQueued("b", lives(40)));
    assert.equal(await store.nextSweepAt(noon), noon + 40);
    await store.write(createQueued("c", lives(30, "terminal")));
    await store.write(finish("c"));
    assert.equal(await store.nextSweepAt(noon), noon + 30);
    await store.write(sweep(noon + 30));
    assert.equal(await store.nextSweepAt(noon), noon + 40);
  },
});
