import assert from "node:assert/strict";
import type { NewBulkJob } from "../task/bulk.ts";
import type { Outcome } from "../task/outcome.ts";
import { assertMembers, storeCases } from "./store-case.ts";
import { changesOf, createQueued, createRunning, noon, kept } from "./sample-task.ts";

const failed: Outcome = { kind: "error", body: '{"code":-32603,"message":"no"}' };

const job: NewBulkJob = {
  id: "job-a",
  actor: "ann",
  action: "cancel",
  selection: { tool: "publish" },
  principal: "bob",
  text: "no route",
  options: {},
  createdAt: noon,
};

export const bulkCases = storeCases("admin", {
  "a finished task says as which one it runs again, once unless the last one is known": async ({ store }) => {
    await store.write(createRunning("a"));
    const again = (name: string, known: string | null = null) =>
      store.write<"create">({
        ...createQueued(name),
        retryOf: { id: "task-a", known },
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
    assert.ok((await again("d", "task-b")).ok);
    assertMembers(await store.get("task-a"), { retriedAs: "task-d", version: 4 });
    const { admin } = store;
    assert.equal((await admin.actions("task-a", null, 9)).length, 2);
    await store.write({ type: "delete", now: noon + 2, id: "task-a" });
    assert.deepEqual(await again("e", "task-d"), { ok: false, reason: "unknown" });
  },

  "a bulk job keeps its tasks, and each ends once, in the write of the action on it": async ({ store }) => {
    const { bulk } = store.admin;
    for (const name of ["a", "b", "c"]) await store.write(createQueued(name));
    const taskIds = ["task-a", "task-b", "task-x"];
    await store.write({ type: "add_bulk_tasks", now: noon, job, from: 0, taskIds });
    await store.write({ type: "add_bulk_tasks", now: noon, job, from: 3, taskIds: ["task-c"] });
    const begun = { ...job, total: 4, startedAt: null, endedAt: null, cancelledBy: null };
    assert.deepEqual(await bulk.get(job.id), { ...begun, heldBy: null, heldUntil: null });
    const open = { job: job.id, endedAs: null, created: null, code: null, message: null };
    assert.deepEqual(
      await bulk.tasks(job.id, null, -1, 9),
      [...taskIds, "task-c"].map((taskId, place) => ({ ...open, place, taskId })),
    );
    const at = (place: number) => ({ job: job.id, place });
    await store.write({ type: "cancel", now: noon + 1, id: "task-a", bulk: at(0) });
    assert.deepEqual(await store.write({ type: "cancel", now: noon + 1, id: "task-a", bulk: at(1) }), {
      ok: false,
      reason: "finished",
    });
    const why = { code: "unknown_task", message: "There is no task task-x." };
    await store.write({ type: "refuse_bulk_task", now: noon, task: at(2), ...why });
    await store.write({ type: "refuse_bulk_task", now: noon, task: at(0), ...why });
    const retryOf = { id: "task-a", known: null };
    await store.write({ ...createQueued("d"), retryOf, bulk: at(3) });
    assert.deepEqual(await bulk.tasks(job.id, "done", -1, 9), [
      { ...open, place: 0, taskId: "task-a", endedAs: "done" },
      { ...open, place: 3, taskId: "task-c", endedAs: "done", created: "task-d" },
    ]);
    assert.deepEqual(await bulk.tasks(job.id, "refused", -1, 9), [
      { ...open, ...why, place: 2, taskId: "task-x", endedAs: "refused" },
    ]);
    assert.deepEqual(await bulk.tasks(job.id, null, 1, 9), []);
    assert.deepEqual(await bulk.counts(job.id), { open: 1, done: 2, refused: 1 });
  },
  "a bulk job is started once, worked on by one owner at a time, and over for good": async ({ store }) => {
    const { admin } = store;
    const { bulk } = admin;
    const { id } = job;
    const by = { actor: "ann", action: "cancel", job: id };
    const start = { type: "start_bulk", now: noon + 1, id, by } as const;
    assert.deepEqual(await store.write(start), { ok: false, reason: "unknown" });
    await store.write({ type: "add_bulk_tasks", now: noon, job, from: 0, taskIds: ["task-a"] });
    assert.deepEqual(await store.write({ type: "hold_bulk", now: noon, id, until: noon + 9 }), {
      ok: false,
      reason: "state",
    });
    assert.deepEqual(await bulk.underWay(9), []);
    await store.write(start);
    assert.deepEqual(await store.write(start), { ok: false, reason: "state" });
    assert.deepEqual(
      (await admin.actions(null, null, 9)).map(({ actor, action, taskId, job: of }) => [
        actor,
        action,
        taskId,
        of,
      ]),
      [["ann", "cancel", null, id]],
    );
    await store.write({ type: "hold_bulk", now: noon + 2, id, until: noon + 9 });
    assertMembers((await bulk.underWay(9))[0], { id, startedAt: noon + 1, heldUntil: noon + 9 });
    assert.deepEqual(await store.write({ type: "delete_bulk", now: noon, id }), {
      ok: false,
      reason: "state",
    });
    await store.write({ type: "end_bulk", now: noon + 5, id, cancelledBy: "bob" });
    for (const late of [
      { type: "hold_bulk", now: noon + 6, id, until: noon + 20 },
      { type: "end_bulk", now: noon + 6, id, cancelledBy: null },
    ] as const)
      assert.deepEqual(await store.write(late), { ok: false, reason: "finished" });
    assertMembers(await bulk.get(id), { endedAt: noon + 5, cancelledBy: "bob", heldBy: null });
    assert.deepEqual(await bulk.underWay(9), []);
    const other = { ...job, id: "job-b", createdAt: noon + 7 };
    await store.write({ type: "add_bulk_tasks", now: noon, job: other, from: 0, taskIds: [] });
    assert.deepEqual(
      (await bulk.list(null, 9)).map((each) => each.id),
      ["job-b", "job-a"],
    );
    assert.deepEqual(
      (await bulk.list("job-b", 9)).map((each) => each.id),
      ["job-a"],
    );
    await store.write({ type: "delete_bulk", now: noon, id });
    assert.equal(await bulk.get(id), undefined);
    assert.deepEqual(await bulk.tasks(id, null, -1, 9), []);
  },
  "what bulk jobs did to a task is found by its id": async ({ store }) => {
    await store.write(createQueued("a"));
    const { id } = job;
    await store.write({ type: "add_bulk_tasks", now: noon, job, from: 0, taskIds: ["task-a", "task-b"] });
    await store.write({
      type: "start_bulk",
      now: noon + 1,
      id,
      by: { actor: "ann", action: "cancel", job: id },
    });
    await store.write({ type: "cancel", now: noon + 2, id: "task-a", bulk: { job: id, place: 0 } });
    const [[action, task] = [], ...more] = await store.admin.bulk.on("task-a", null, 9);
    assertMembers(action, { actor: "ann", action: "cancel", job: id, at: noon + 1 });
    assertMembers(task, { taskId: "task-a", endedAs: "done", place: 0 });
    assert.deepEqual(more, []);
    assert.deepEqual(await store.admin.bulk.on("task-a", action?.seq ?? 0, 9), []);
    assert.deepEqual(await store.admin.bulk.on("task-b", null, 9), []); // not acted on yet
  },
});
