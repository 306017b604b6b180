import assert from "node:assert/strict";
import type { TaskStore } from "../store/store.ts";
import type { Block } from "../task/blocked.ts";
import type { CommandResult } from "../task/command.ts";
import { aHandler, askAs, createQueued, createRunning, noHandler, noon } from "./sample-task.ts";
import { assertMembers, storeCases } from "./store-case.ts";

const block: Block = {
  reason: "tool",
  problem: "No process has the tool.",
  key: null,
  was: "the tool",
  is: null,
  version: null,
  deploy: "abc",
};

function claim(store: TaskStore, now: number): Promise<CommandResult<"claim">> {
  return store.write({ type: "claim", now, handlers: [aHandler], tokens: ["c1"] });
}

export const blockedCases = storeCases("blocked", {
  "a task that code cannot continue is kept, with what comes for it, until it is tried again": async ({
    store,
  }) => {
    await store.write(createRunning("a"));
    await store.write(askAs("a", "q"));
    const held = { now: noon + 1, id: "task-a", token: "t1" } as const;
    const blocked = { ...block, since: noon + 1, tries: 1 };
    const kept = { state: "queued", lane: null, runAfter: noon + 9, token: null, owner: null, blocked };
    assertMembers(await store.write({ ...held, type: "block", until: noon + 9, block }), {
      ok: true,
      task: kept,
    });
    assert.deepEqual(await store.queued(aHandler, { after: "", limit: 9, blocked: true }), ["task-a"]);
    assert.deepEqual(await store.queued(aHandler, { after: "", limit: 9, blocked: false }), []);
    const answers = [{ key: "q", value: "{}" }];
    assertMembers(await store.write({ type: "answer_inputs", now: noon + 2, id: "task-a", answers }), {
      accepted: ["q"],
      task: { ...kept, openInputs: 0 },
    });
    assertMembers(await claim(store, noon + 3), { tasks: [] });
    const unblocked = await store.write({ type: "unblock", now: noon + 4, id: "task-a" });
    assertMembers(unblocked, { ok: true, task: { lane: "recovered", runAfter: noon + 4, blocked } });
    assertMembers(await claim(store, noon + 5), { tasks: [{ id: "task-a", attempt: 2, blocked }] });
    const again = {
      type: "block",
      now: noon + 6,
      id: "task-a",
      token: "c1",
      until: noon + 9,
      block,
    } as const;
    const twice = { ...blocked, tries: 2 };
    assertMembers(await store.write({ ...again, unbegun: true }), { task: { attempt: 1, blocked: twice } });
    assertMembers(await store.write({ type: "wake", now: noon + 9, limit: 9 }), { woken: 1 });
    assertMembers(await claim(store, noon + 9), { tasks: [{ id: "task-a", attempt: 2, blocked: twice }] });
    await store.write({ type: "mark", now: noon + 10, id: "task-a", token: "c1" });
    assert.equal((await store.get("task-a"))?.blocked, undefined);
    assert.deepEqual(await store.write({ type: "unblock", now: noon + 11, id: "task-a" }), {
      ok: false,
      reason: "state",
    });
  },

  "a queued task is blocked for its tool only while nobody has that": async ({ store }) => {
    await store.write(createQueued("a"));
    await store.write(createQueued("b", { tool: noHandler.tool }));
    const orphan = { type: "orphan", now: noon, until: noon + 9, block } as const;
    assert.deepEqual(await store.write({ ...orphan, id: "task-a" }), { ok: false, reason: "state" });
    assertMembers(await store.write({ ...orphan, id: "task-b" }), {
      ok: true,
      task: { state: "queued", lane: null, runAfter: noon + 9, blocked: { reason: "tool", tries: 1 } },
    });
  },
});
