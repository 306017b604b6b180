import assert from "node:assert/strict";
import type { TaskCommand } from "../task/command.ts";
import type { Outcome } from "../task/outcome.ts";
import { assertMembers } from "./assert-members.ts";
import { createQueued, createRunning, noon } from "./sample-task.ts";
import { storeCases } from "./store-case.ts";
import { changesOf } from "./told-changes.ts";

const id = "task-a";
const result: Outcome = { kind: "result", body: '{"content":[]}' };
const error: Outcome = { kind: "error", body: '{"code":-32603,"message":"no"}' };

function settle(outcome: Outcome): TaskCommand<"settle"> {
  return { type: "settle", now: noon + 5, id, token: "t1", outcome };
}

const now = noon + 6;
const statusMessage = "late";
const tooLate: readonly TaskCommand[] = [
  { type: "cancel", now, id },
  { type: "request_cancel", now, id },
  { type: "start", now, id, token: "t2" },
  { type: "fail", now, id, outcome: error, statusMessage },
  { type: "answer_inputs", now, id, answers: [] },
  { type: "update", now, id, token: "t1", changes: { statusMessage } },
];

export const settleCases = storeCases("settle", {
  "the outcome is there with the state, in one snapshot": async ({ store }) => {
    await store.write(createRunning("a"));
    assertMembers(await store.write(settle(result)), { ok: true, task: { state: "settled", token: null } });
    assertMembers(await store.snapshot(id), {
      task: { state: "settled", finishedAt: noon + 5, version: 2, outcomeKind: "result" },
      outcome: result,
    });
  },

  "a snapshot is for whom its record is visible": async ({ store }) => {
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

  "the record says of what kind the outcome is, in whatever way it came": async ({ store }) => {
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

  "the first of two settlements at the same time wins": async ({ store }) => {
    await store.write(createRunning("a"));
    const [first, second] = await Promise.all([store.write(settle(result)), store.write(settle(error))]);
    assert.equal(first.ok, true);
    assert.deepEqual(second, { ok: false, reason: "finished" });
    assert.deepEqual((await store.snapshot(id))?.outcome, result);
  },

  "nothing moves a finished task": async ({ store }) => {
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

  "a second request to cancel changes nothing, and is not told": async ({ store }) => {
    await store.write(createRunning("a"));
    const first = await store.write({ type: "request_cancel", now: noon + 1, id });
    assertMembers(first, { ok: true, task: { cancelRequestedAt: noon + 1, version: 2 } });
    const seen = changesOf(store);
    assert.deepEqual(await store.write({ type: "request_cancel", now: noon + 2, id }), first);
    assertMembers(await store.get(id), { cancelRequestedAt: noon + 1, version: 2 });
    assert.deepEqual(seen, []);
  },

  "progress does not go back": async ({ store }) => {
    await store.write(createRunning("a"));
    const report = (at: number, changes: TaskCommand<"update">["changes"]) =>
      store.write({ type: "update", now: at, id, token: "t1", changes });
    const half = { progress: 2, total: 4, message: "half" };
    assertMembers(await report(noon + 1, { progress: half }), { task: { progress: half, version: 2 } });
    // A lower progress changes nothing, but the rest of its report still counts.
    const behind = { progress: { progress: 1, message: "again" } };
    assertMembers(await report(noon + 2, behind), { ok: true, task: { progress: half, version: 2 } });
    const told = await report(noon + 3, { ...behind, statusMessage: "told" });
    assertMembers(told, { task: { progress: half, version: 3, statusMessage: "told", updatedAt: noon + 3 } });
    const more = await report(noon + 4, { progress: { progress: 2, message: "still" } });
    assertMembers(more, { task: { version: 4 } });
    assert.deepEqual((await store.get(id))?.progress, { progress: 2, message: "still" });
  },

  "an update replaces what it names, progress included": async ({ store }) => {
    await store.write(createRunning("a", { statusMessage: "begun" }));
    const progress = { progress: 1.5, total: 3, message: "half" };
    await store.write({ type: "update", now: noon + 1, id, token: "t1", changes: { progress } });
    assertMembers(await store.get(id), { progress, statusMessage: "begun", updatedAt: noon + 1 });
    const expiry = { from: "terminal", ms: 7 } as const;
    const changes = { statusMessage: null, pollIntervalMs: 9, expiry };
    await store.write({ type: "update", now: noon + 2, id, token: "t1", changes });
    assertMembers(await store.get(id), { ...changes, progress, sweepAt: null, updatedAt: noon + 2 });
  },

  "a command about an unknown task says so": async ({ store }) => {
    assert.deepEqual(await store.write(settle(result)), { ok: false, reason: "unknown" });
  },
});
