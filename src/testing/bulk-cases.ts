import assert from "node:assert/strict";
import type { JournalEntry } from "../task/journal.ts";
import type { Outcome } from "../task/outcome.ts";
import { assertMembers, storeCases } from "./store-case.ts";
import { changesOf, createQueued, createRunning, noon } from "./sample-task.ts";

const failed: Outcome = { kind: "error", body: '{"code":-32603,"message":"no"}' };

/** What a task that runs again begins with. */
const kept: JournalEntry = {
  key: "render",
  kind: "step",
  method: null,
  request: null,
  requestHash: null,
  value: '{"pages":1}',
  error: null,
  deadlineAt: null,
  tries: 0,
  begunAt: noon - 5,
  doneAt: noon - 1,
  doneVersion: 1,
};

export const bulkCases = storeCases("admin", {
  "a finished task says as which one it runs again, once unless it is said": async ({ store }) => {
    await store.write(createRunning("a"));
    const again = (name: string, how?: { readonly again: true }) =>
      store.write<"create">({
        ...createQueued(name),
        retryOf: { id: "task-a", ...how },
        journal: [kept],
        by: { actor: "ann", action: "retry", taskId: "task-a" },
      });
    assert.deepEqual(await again("b"), { ok: false, reason: "state" });
    await store.write({ type: "settle", now: noon + 1, id: "task-a", token: "t1", outcome: failed });
    const seen = changesOf(store);
    const made = await again("b");
    assert.ok(made.ok);
    assertMembers(await store.get("task-a"), { retriedAs: "task-b", version: 3, outcomeKind: "error" });
    assert.deepEqual(seen, [
      { id: "task-b", version: 1 },
      { id: "task-a", version: 3 },
    ]);
    assertMembers(await store.journalEntry("task-b", "render"), { value: kept.value, doneVersion: 1 });
    assert.deepEqual(await again("c"), { ok: false, reason: "retried" });
    assert.equal(await store.get("task-c"), undefined);
    assert.ok((await again("d", { again: true })).ok);
    assertMembers(await store.get("task-a"), { retriedAs: "task-d", version: 4 });
    const { admin } = store;
    assert.equal((await admin.actions("task-a", null, 9)).length, 2);
    await store.write({ type: "delete", now: noon + 2, id: "task-a" });
    assert.deepEqual(await again("e", { again: true }), { ok: false, reason: "unknown" });
  },
});
