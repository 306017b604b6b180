import assert from "node:assert/strict";
import type { TaskCommand } from "../task/command.ts";
import type { Outcome } from "../task/outcome.ts";
import { assertMembers } from "./assert-members.ts";
import { createQueued, createRunning, noon } from "./sample-task.ts";
import { storeCases } from "./store-case.ts";

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
      task: { state: "settled", finishedAt: noon + 5, version: 2 },
      outcome: result,
    });
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
      task: { state: "cancelled", statusMessage: "stopped", cancelRequestedAt: noon + 5 },
      outcome: null,
    });
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
