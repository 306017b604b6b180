import assert from "node:assert/strict";
import { saysNothing, type CauseMark } from "../task/cause.ts";
import type { Outcome } from "../task/outcome.ts";
import type { TaskStore } from "../store/store.ts";
import { assertMembers, storeCases } from "./store-case.ts";
import { createQueued, createRunning, noon } from "./sample-task.ts";

const failed: Outcome = { kind: "error_result", body: '{"content":[],"isError":true}' };

/** A task that fails at a time, for a reason. */
async function fail(store: TaskStore, name: string, minute: number, statusMessage: string): Promise<string> {
  await store.write(createRunning(name));
  const id = `task-${name}`;
  const ending = { outcome: failed, statusMessage, failure: { name: "Error", step: "charge" } };
  await store.write({ type: "settle", now: noon + minute * 60_000, id, token: "t1", ...ending });
  return (await store.get(id))?.cause ?? "none";
}

export const causeCases = storeCases("admin", {
  "failures that differ in ids have one cause, whose tasks are listed and counted": async ({ store }) => {
    const { admin } = store;
    const route = await fail(store, "a", 1, "no route to order 17");
    assert.equal(await fail(store, "b", 2, "no route to order 18"), route);
    const card = await fail(store, "c", 3, "the card has expired");
    assert.notEqual(card, route);
    assert.match(route, /^[ck][0-9a-f]{16}$/);
    await store.write(createRunning("d"));
    const done: Outcome = { kind: "result", body: "{}" };
    await store.write({ type: "settle", now: noon, id: "task-d", token: "t1", outcome: done });
    const idsOf = async (
      cause: string,
      before: string | null = null,
      limit = 9,
    ): Promise<readonly string[]> =>
      (await admin.tasks({ of: "cause", cause }, before, limit)).map(({ id }) => id);
    assert.deepEqual(await idsOf(route), ["task-b", "task-a"]);
    assert.deepEqual(await idsOf(route, "task-b"), ["task-a"]);
    assert.deepEqual(await idsOf(route, null, 1), ["task-b"]);
    assert.deepEqual(await idsOf("c0000000000000000"), []);
    assert.equal(await admin.count({ of: "cause", cause: route }, 9), 2);
    assert.equal(await admin.count({ of: "cause", cause: route }, 1), 1);
    const all = await admin.causes.failed(null, 9);
    assert.deepEqual(
      all.map(({ id, cause, finishedAt }) => [id, cause, finishedAt]),
      [
        ["task-c", card, noon + 180_000],
        ["task-b", route, noon + 120_000],
        ["task-a", route, noon + 60_000],
      ],
    );
    assert.deepEqual(await admin.causes.failed("task-c", 1), all.slice(1, 2));
    assert.deepEqual(await admin.causes.failed(null, 9, route), all.slice(1));
    assert.deepEqual(await admin.causes.failed("task-b", 9, route), all.slice(2));
    assert.deepEqual(await admin.causes.failed(null, 1, route), all.slice(1, 2));
    assert.deepEqual(await admin.causes.first(route), all[2]);
    assert.equal(await admin.causes.first("c0000000000000000"), undefined);
    const names = [route, card].sort();
    assert.deepEqual(await admin.causes.names(9), names);
    assert.deepEqual(await admin.causes.names(1), names.slice(0, 1));
    await store.write({ type: "delete", now: noon + 1, id: "task-c" });
    assert.equal((await admin.causes.failed(null, 9)).length, 2);
  },

  "whoever ends a task with a failure, it has a cause": async ({ store }) => {
    await store.write(createQueued("a"));
    await store.write({
      type: "fail",
      now: noon,
      id: "task-a",
      outcome: failed,
      statusMessage: "It is gone",
    });
    assertMembers(await store.get("task-a"), { outcomeKind: "error_result" });
    assert.match((await store.get("task-a"))?.cause ?? "", /^[ck]/);
    await store.write(createRunning("b"));
    await store.write({ type: "cancel", now: noon, id: "task-b" });
    assert.equal((await store.get("task-b"))?.cause, undefined);
  },

  "what operators say of a cause is kept until they say something else": async ({ store }) => {
    const { admin } = store;
    const marks = (): Promise<readonly CauseMark[]> => admin.causes.marks();
    const mark = { cause: "c1", muted: true, note: "Fixed in 4", actor: "ann", at: noon };
    const by = { actor: "ann", action: "mark", detail: { cause: "c1" } };
    await store.write({ type: "mark_cause", now: noon, mark, by });
    await store.write({ type: "mark_cause", now: noon, mark: { ...mark, cause: "c0", note: null } });
    assert.deepEqual(await marks(), [{ ...mark, cause: "c0", note: null }, mark]);
    const said = { ...mark, muted: false, note: "Not fixed", actor: "bob", at: noon + 1 };
    await store.write({ type: "mark_cause", now: noon + 1, mark: said });
    assert.deepEqual((await marks())[1], said);
    const nothing = { ...said, note: null };
    assert.ok(saysNothing(nothing));
    await store.write({ type: "mark_cause", now: noon + 2, mark: nothing });
    assert.deepEqual(
      (await marks()).map(({ cause }) => cause),
      ["c0"],
    );
    assertMembers((await admin.actions(null, null, 1))[0], { action: "mark", detail: '{"cause":"c1"}' });
  },

  "an action can be recorded alone": async ({ store }) => {
    const by = { actor: "ann", action: "export", detail: { tasks: 2 } };
    assert.deepEqual(await store.write({ type: "record_action", now: noon, by }), { ok: true });
    assertMembers((await store.admin.actions(null, null, 9))[0], {
      at: noon,
      actor: "ann",
      action: "export",
      taskId: null,
      detail: '{"tasks":2}',
    });
  },
});
