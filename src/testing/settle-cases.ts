import assert from "node:assert/strict";
import type { TaskCommand } from "../task/command.ts";
import type { Outcome } from "../task/outcome.ts";
import { assertMembers, storeCases } from "./store-case.ts";
import { createQueued, createRunning, noon, changesOf, wholeJournal } from "./sample-task.ts";
import type { Expiry } from "../task/record.ts";
import { latestTime } from "../task/time.ts";

const id = "task-a";

const result: Outcome = { kind: "result", body: '{"content":[]}' };

const error: Outcome = { kind: "error", body: '{"code":-32603,"message":"no"}' };

function settle(outcome: Outcome): TaskCommand<"settle"> {
  return { type: "settle", now: noon + 5, id, token: "t1", outcome };
}

const settledLater = noon + 6;

const statusMessage = "late";

const tooLate: readonly TaskCommand[] = [
  { type: "cancel", now: settledLater, id },
  { type: "request_cancel", now: settledLater, id },
  { type: "start", now: settledLater, id, token: "t2" },
  { type: "fail", now: settledLater, id, outcome: error, statusMessage },
  { type: "answer_inputs", now: settledLater, id, answers: [] },
  { type: "update", now: settledLater, id, token: "t1", changes: { statusMessage } },
];

export const settleCases = storeCases("settle", {
  "a snapshot has the outcome together with the state": async ({ store }) => {
    await store.write(createRunning("a"));
    assertMembers(await store.write(settle(result)), { ok: true, task: { state: "settled", token: null } });
    assertMembers(await store.snapshot(id), {
      task: { state: "settled", finishedAt: noon + 5, version: 2, outcomeKind: "result" },
      outcome: result,
    });
  },

  "a snapshot is visible only to those who may see its record": async ({ store }) => {
    await store.write(createRunning("a"));
    await store.write(settle(result));
    const whole = await store.snapshot(id);
    const seen: unknown[] = [];
    const answered = (visible: boolean) => store.snapshot(id, (task) => (seen.push(task), visible));
    assert.equal(await answered(false), undefined);
    assert.deepEqual(await answered(true), whole);
    assert.deepEqual(seen, [whole?.task, whole?.task]);
    const unexpected = (): boolean => assert.fail("There is no task to be seen.");
    assert.equal(await store.snapshot("task-x", unexpected), undefined);
  },

  "the record names the kind of outcome, however it came about": async ({ store }) => {
    const failed: Outcome = { kind: "error_result", body: '{"content":[],"isError":true}' };
    for (const [name, outcome] of Object.entries({ a: result, b: failed, c: error })) {
      await store.write(createRunning(name));
      assertMembers(await store.get(`task-${name}`), { outcomeKind: null });
      await store.write({ ...settle(outcome), id: `task-${name}` });
      assertMembers(await store.get(`task-${name}`), { outcomeKind: outcome.kind });
      assert.deepEqual((await store.snapshot(`task-${name}`))?.outcome, outcome);
    }
    const end = { now: noon, outcome: error, statusMessage: "no" };
    await store.write(createQueued("d"));
    assertMembers(await store.write({ type: "fail", id: "task-d", ...end }), {
      task: { outcomeKind: "error" },
    });
    await store.write(createRunning("e", { expiry: { from: "created", ms: 0 } }));
    const expired = await store.write({ type: "expire", id: "task-e", visibleUntil: noon, ...end });
    assertMembers(expired, { task: { outcomeKind: "error" } });
  },

  "the first retrieval of a result is recorded, and nothing else but the version changes": async ({
    store,
  }) => {
    const retrieve = (via: string, now = noon + 9) => store.write({ type: "retrieve", now, id, via });
    assert.deepEqual(await retrieve("early"), { ok: false, reason: "unknown" });
    await store.write(createRunning("a"));
    assert.deepEqual(await retrieve("early"), { ok: false, reason: "state" });
    await store.write(settle(result));
    const before = await store.snapshot(id);
    const heard = changesOf(store);
    const [first, second] = await Promise.all([retrieve("tasks/get"), retrieve("task_result")]);
    const version = (before?.task.version ?? 0) + 1;
    const task = before && { ...before.task, version, retrieved: { at: noon + 9, via: "tasks/get" } };
    assert.deepEqual(
      [first, second],
      [
        { ok: true, task },
        { ok: false, reason: "state" },
      ],
    );
    assert.deepEqual(await store.snapshot(id), { ...before, task });
    assert.deepEqual(heard, []);
  },

  "that a task was cancelled is retrieved, too": async ({ store }) => {
    await store.write(createQueued("a"));
    await store.write({ type: "cancel", now: noon, id });
    const retrieved = await store.write({ type: "retrieve", now: noon, id, via: "inbox" });
    assertMembers(retrieved, { ok: true, task: { retrieved: { at: noon, via: "inbox" } } });
  },

  "the first of two concurrent settlements wins": async ({ store }) => {
    await store.write(createRunning("a"));
    const [first, second] = await Promise.all([store.write(settle(result)), store.write(settle(error))]);
    assert.equal(first.ok, true);
    assert.deepEqual(second, { ok: false, reason: "finished" });
    assert.deepEqual((await store.snapshot(id))?.outcome, result);
  },

  "nothing changes a finished task": async ({ store }) => {
    await store.write(createRunning("a"));
    await store.write(settle(result));
    const before = await store.snapshot(id);
    for (const command of tooLate) {
      assert.deepEqual(await store.write(command), { ok: false, reason: "finished" }, command.type);
    }
    assert.deepEqual(await store.snapshot(id), before);
  },

  "a cancelled task has no outcome": async ({ store }) => {
    await store.write(createQueued("a"));
    await store.write({ type: "cancel", now: noon + 5, id, statusMessage: "stopped" });
    assertMembers(await store.snapshot(id), {
      task: {
        state: "cancelled",
        statusMessage: "stopped",
        cancelRequestedAt: noon + 5,
        outcomeKind: null,
      },
      outcome: null,
    });
  },

  "a second cancel request changes nothing and is not announced": async ({ store }) => {
    await store.write(createRunning("a"));
    const first = await store.write({ type: "request_cancel", now: noon + 1, id });
    assertMembers(first, { ok: true, task: { cancelRequestedAt: noon + 1, version: 2 } });
    const seen = changesOf(store);
    assert.deepEqual(await store.write({ type: "request_cancel", now: noon + 2, id }), first);
    assertMembers(await store.get(id), { cancelRequestedAt: noon + 1, version: 2 });
    assert.deepEqual(seen, []);
  },

  "progress does not decrease": async ({ store }) => {
    await store.write(createRunning("a"));
    const report = (at: number, changes: TaskCommand<"update">["changes"]) =>
      store.write({ type: "update", now: at, id, token: "t1", changes });
    const half = { progress: 2, total: 4, message: "half" };
    assertMembers(await report(noon + 1, { progress: half }), { task: { progress: half, version: 2 } });
    // A lower progress changes nothing, but the rest of its report still counts.
    const behind = { progress: { progress: 1, message: "again" } };
    assertMembers(await report(noon + 2, behind), { ok: true, task: { progress: half, version: 2 } });
    const shown = await report(noon + 3, { ...behind, statusMessage: "told" });
    assertMembers(shown, {
      task: { progress: half, version: 3, statusMessage: "told", updatedAt: noon + 3 },
    });
    const more = await report(noon + 4, { progress: { progress: 2, message: "still" } });
    assertMembers(more, { task: { version: 4 } });
    assert.deepEqual((await store.get(id))?.progress, { progress: 2, message: "still" });
  },

  "an update replaces what it names, including progress": async ({ store }) => {
    await store.write(createRunning("a", { statusMessage: "begun" }));
    const progress = { progress: 1.5, total: 3, message: "half" };
    await store.write({ type: "update", now: noon + 1, id, token: "t1", changes: { progress } });
    assertMembers(await store.get(id), { progress, statusMessage: "begun", updatedAt: noon + 1 });
    const expiry = { from: "terminal", ms: 7 } as const;
    const changes = { statusMessage: null, pollIntervalMs: 9, expiry };
    await store.write({ type: "update", now: noon + 2, id, token: "t1", changes });
    assertMembers(await store.get(id), { ...changes, progress, sweepAt: null, updatedAt: noon + 2 });
  },

  "a command for an unknown task is refused as unknown": async ({ store }) => {
    assert.deepEqual(await store.write(settle(result)), { ok: false, reason: "unknown" });
  },
});

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
  "due lists unfinished tasks that have reached their end, earliest first": async ({ store }) => {
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

  "a task with a scheduled cancel is due at that time, and not once it is withdrawn": async ({ store }) => {
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

  "a task without its own end is due at its run limit": async ({ store }) => {
    await store.write(createRunning("a", { ...lives(20, "terminal"), runUntil: noon + 30 }));
    assert.equal(await store.nextSweepAt(noon), noon + 30);
    assert.deepEqual(await store.due(noon + 29, 10), []);
    assert.deepEqual(await store.due(noon + 30, 10), ["task-a"]);
    const expired = await store.write(expire(noon + 30, noon + 40));
    assertMembers(expired, { ok: true, task: { state: "settled", sweepAt: noon + 50 } });
  },

  "an expired task is settled, stays visible for a while, and can then be deleted": async ({ store }) => {
    await store.write(createRunning("a", lives(10)));
    const expired = await store.write(expire(noon + 10, noon + 70));
    assertMembers(expired, { ok: true, task: { state: "settled", sweepAt: noon + 70 } });
    assert.deepEqual(await store.due(noon + 99, 10), []);
    assert.deepEqual(await store.write(sweep(noon + 69)), { ok: true, deleted: [] });
    assert.deepEqual(await store.write(sweep(noon + 70)), { ok: true, deleted: ["task-a"] });
  },

  "delete_expired deletes only finished tasks, earliest first, up to its limit": async ({ store }) => {
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

  "a deleted task leaves nothing behind, and its ids and keys are free": async ({ store }) => {
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

  "an end beyond exact numbers becomes the latest possible time": async ({ store }) => {
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

  "nextSweepAt skips tasks that are already due": async ({ store }) => {
    await store.write(createQueued("a", lives(10)));
    await store.write(createQueued("b", lives(10)));
    await store.write(createQueued("c", lives(20)));
    await store.write(finish("c"));
    assert.equal(await store.nextSweepAt(noon + 9), noon + 10);
    assert.equal(await store.nextSweepAt(noon + 10), noon + 20);
    assert.equal(await store.nextSweepAt(noon + 20), null);
  },

  "nextSweepAt is the earlier of expiry and deletion, or null if there is neither": async ({ store }) => {
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

const remove = { type: "delete", now: noon, id: "task-a" } as const;

const wire = { generation: "sep-1686", scope: "s", wireId: "mine" } as const;

export const deleteCases = storeCases("delete", {
  "deleting a finished task removes all its data and frees its ids": async ({ store }) => {
    await store.write(createRunning("a", { ...wire, idempotencyKey: "i" }));
    const held = { id: "task-a", now: noon, token: "t1" };
    await store.write({ type: "record_step", ...held, key: "k", value: "1", error: null });
    await store.write({ type: "settle", ...held, outcome: { kind: "result", body: "{}" } });
    assert.deepEqual(await store.write(remove), { ok: true });
    assert.equal(await store.get("task-a"), undefined);
    assert.equal(await store.snapshot("task-a"), undefined);
    assert.equal(await store.request("task-a"), undefined);
    assert.deepEqual(await wholeJournal(store, "task-a"), []);
    assert.equal(await store.find(wire), undefined);
    assert.deepEqual(await store.list({ generation: "sep-1686", principal: "ann" }, null, 9, noon), []);
    assert.equal(await store.nextSweepAt(noon), null);
    const again = await store.write(createQueued("a", { ...wire, idempotencyKey: "i" }));
    assertMembers(again, { ok: true, created: true });
  },

  "an unfinished task cannot be deleted": async ({ store }) => {
    await store.write(createQueued("a"));
    assert.deepEqual(await store.write(remove), { ok: false, reason: "state" });
    await store.write({ type: "start", now: noon, id: "task-a", token: "t1" });
    assert.deepEqual(await store.write(remove), { ok: false, reason: "state" });
    assertMembers(await store.get("task-a"), { state: "running" });
  },

  "a missing or deleted task is unknown": async ({ store }) => {
    assert.deepEqual(await store.write(remove), { ok: false, reason: "unknown" });
    await store.write(createQueued("a"));
    await store.write({ type: "cancel", now: noon, id: "task-a" });
    await store.write(remove);
    assert.deepEqual(await store.write(remove), { ok: false, reason: "unknown" });
  },

  "a deletion is announced once": async ({ store }) => {
    await store.write(createQueued("a"));
    await store.write({ type: "cancel", now: noon, id: "task-a" });
    const heard = changesOf(store);
    await store.write(remove);
    await store.write(remove);
    assert.deepEqual(heard, [{ id: "task-a", version: null }]);
  },

  "a deletion makes room in the quota": async ({ store }) => {
    const one = { unfinished: null, retained: 1 };
    const quota = { perPrincipal: one, total: one };
    await store.write({ ...createQueued("a"), quota });
    await store.write({ type: "cancel", now: noon, id: "task-a" });
    assertMembers(await store.write({ ...createQueued("b"), quota }), { reason: "quota" });
    await store.write(remove);
    assertMembers(await store.write({ ...createQueued("b"), quota }), { created: true });
  },
});
