import assert from "node:assert/strict";
import type { TaskStore } from "../store/store.ts";
import type { CommandResult } from "../task/command-result.ts";
import { assertMembers } from "./assert-members.ts";
import { aHandler, createQueued, createRunning, noHandler, noon, owner } from "./sample-task.ts";
import { storeCases } from "./store-case.ts";

const handlers = [aHandler];

function claim(store: TaskStore, count: number, now = noon): Promise<CommandResult<"claim">> {
  const tokens = Array.from({ length: count }, (_, index) => `c${index + 1}`);
  return store.write({ type: "claim", now, handlers, tokens });
}

async function idsOf(claiming: Promise<CommandResult<"claim">>): Promise<readonly string[]> {
  return (await claiming).tasks.map(({ id }) => id);
}

export const claimCases = storeCases("claim", {
  "a queued task belongs to its owner, and a claim starts it under a token": async ({ store }) => {
    await store.write(createQueued("a"));
    assertMembers(await store.get("task-a"), {
      state: "queued",
      owner,
      lane: "new",
      runAfter: noon,
      token: null,
    });
    const { tasks, unreadable } = await claim(store, 1);
    assertMembers(tasks, [
      { id: "task-a", state: "running", owner, lane: null, runAfter: null, token: "c1", attempt: 1 },
    ]);
    assert.deepEqual(unreadable, []);
    assert.deepEqual(tasks[0], await store.get("task-a"));
    assert.deepEqual(await idsOf(claim(store, 1)), []);
  },

  "a claim takes what may run longest, one under each token": async ({ store }) => {
    for (const [name, at] of Object.entries({ b: 2, a: 1, d: 3, c: 3 })) {
      await store.write({ ...createQueued(name), now: noon + at });
    }
    await store.write(createRunning("e"));
    const { tasks } = await claim(store, 3, noon + 9);
    assertMembers(tasks, [
      { id: "task-a", token: "c1" },
      { id: "task-b", token: "c2" },
      { id: "task-c", token: "c3" },
    ]);
    assert.deepEqual(await idsOf(claim(store, 3, noon + 9)), ["task-d"]);
  },

  "what was queued can be claimed, be it by a clock that is behind": async ({ store }) => {
    assert.equal(await store.hasClaimable(handlers), false);
    await store.write({ ...createQueued("a"), now: noon + 5 });
    assert.equal(await store.hasClaimable(handlers), true);
    assertMembers(await claim(store, 9, noon), { tasks: [{ id: "task-a" }] });
    assert.equal(await store.hasClaimable(handlers), false);
  },

  "what has no handler here is left": async ({ store }) => {
    await store.write(createQueued("a", { tool: noHandler.tool }));
    await store.write(createQueued("b", { method: "resources/read" }));
    assert.equal(await store.hasClaimable(handlers), false);
    assert.deepEqual(await idsOf(claim(store, 9)), []);
    const both = [aHandler, noHandler];
    assert.equal(await store.hasClaimable(both), true);
    const claimed = await store.write({ type: "claim", now: noon, handlers: both, tokens: ["c1", "c2"] });
    assertMembers(claimed.tasks, [{ id: "task-a" }]);
  },

  "a task that ended while it was queued is not claimed": async ({ store }) => {
    await store.write(createQueued("a"));
    await store.write({ type: "cancel", now: noon, id: "task-a" });
    assertMembers(await store.get("task-a"), { state: "cancelled", owner: null, runAfter: null });
    assert.deepEqual(await idsOf(claim(store, 9)), []);
  },

  "a task that was given back is claimed again, under another token": async ({ store }) => {
    await store.write(createRunning("a"));
    await store.write({ type: "release", now: noon + 1, id: "task-a", token: "t1" });
    assertMembers(await store.get("task-a"), {
      state: "queued",
      owner: null,
      lane: "recovered",
      runAfter: noon + 1,
      token: null,
    });
    assertMembers(await claim(store, 1, noon + 1), { tasks: [{ id: "task-a", token: "c1", attempt: 2 }] });
  },

  "queued tasks without a handler anywhere are known by what would run them": async ({ store }) => {
    await store.write(createQueued("a", { tool: noHandler.tool }));
    await store.write({ ...createQueued("c", { tool: noHandler.tool }), now: noon - 1 });
    await store.write({ ...createQueued("d", { tool: noHandler.tool }), now: noon + 1, forAnyOwner: true });
    await store.write(createQueued("b"));
    assert.deepEqual(await store.orphanedHandlers(), [noHandler]);
    assert.deepEqual(await store.queued(noHandler, 9), ["task-c", "task-a", "task-d"]);
    assert.deepEqual(await store.queued(noHandler, 1), ["task-c"]);
    const outcome = { kind: "error", body: "{}" } as const;
    const fail = { type: "fail", now: noon, outcome, statusMessage: "no tool", orphaned: true } as const;
    assert.deepEqual(await store.write({ ...fail, id: "task-b" }), { ok: false, reason: "state" });
    assertMembers(await store.write({ ...fail, id: "task-a" }), { ok: true, task: { state: "settled" } });
    assert.deepEqual(await store.queued(noHandler, 9), ["task-c", "task-d"]);
  },
});
