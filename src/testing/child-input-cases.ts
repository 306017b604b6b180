import assert from "node:assert/strict";
import type { TaskStore } from "../store/store.ts";
import { childInputKey } from "../task/child-input.ts";
import { latestTime } from "../task/time.ts";
import { assertMembers } from "./assert-members.ts";
import { askAs, callDown, callTool, settleAs, startTask } from "./sample-call.ts";
import { createRunning, noon } from "./sample-task.ts";
import { ownerCases, storeCases } from "./store-case.ts";
import { changesOf } from "./told-changes.ts";

const id = "task-a";

/** A root's copy of the question of a task below it. */
function shown(name: string, key: string) {
  const params = `{"message":"${name}"}`;
  return { key: childInputKey({ taskId: `task-${name}`, key }), method: "elicitation/create", params };
}

async function inputsOf(store: TaskStore, of = id): Promise<readonly unknown[] | undefined> {
  return (await store.snapshot(of))?.inputs;
}

function answerAs(name: string, key: string) {
  const answers = [{ key, value: "1" }];
  return { type: "answer_inputs", now: noon + 4, id: `task-${name}`, answers } as const;
}

export const childInputCases = [
  ...storeCases("questions below", {
    "a root shows its own questions, then those of all tasks below it": async ({ store }) => {
      await callDown(store, "a", "c", "d");
      await store.write(callTool("a", "b"));
      await store.write(startTask("b"));
      for (const [name, key] of [
        ["d", "z"],
        ["d", "y"],
        ["a", "q"],
        ["b", "q"],
      ] as const)
        await store.write(askAs(name, key));
      assertMembers(await store.get(id), { openInputs: 4, childInputs: 3, openWaits: 2 });
      assertMembers(await store.get("task-c"), { openInputs: 0, childInputs: 0 });
      assertMembers(await store.get("task-d"), { openInputs: 2, childInputs: 0 });
      const own = { key: "q", method: "elicitation/create", params: '{"message":"a"}' };
      const below = [shown("b", "q"), shown("d", "z"), shown("d", "y")];
      assert.deepEqual(await inputsOf(store), [own, ...below]);
      assert.deepEqual(await inputsOf(store, "task-c"), []);
      assertMembers(await inputsOf(store, "task-d"), [{ key: "z" }, { key: "y" }]);
    },

    "a question below says which scopes its task needs": async ({ store }) => {
      await callDown(store, "a", "b");
      await store.write(callTool("b", "c", { requiredScopes: ["pay", "send"] }));
      await store.write(startTask("c"));
      await store.write(askAs("b", "q"));
      await store.write(askAs("c", "q"));
      const inputs = [shown("b", "q"), { ...shown("c", "q"), requiredScopes: ["pay", "send"] }];
      assert.deepEqual(await inputsOf(store), inputs);
    },

    "what is put, answered or given up below changes the root, and is told": async ({ store }) => {
      await callDown(store, "a", "b", "c");
      const seen = changesOf(store);
      await store.write(askAs("c", "q"));
      assertMembers(await store.get(id), { openInputs: 1, updatedAt: noon + 3, version: 3 });
      const first = new Map(seen.map((change) => [change.id, change.version]));
      assert.deepEqual(Object.fromEntries(first), { [id]: 3, "task-c": 3 });
      assertMembers(await store.write(answerAs("c", "q")), { accepted: ["q"] });
      assertMembers(await store.get(id), { openInputs: 0, childInputs: 0, updatedAt: noon + 4, version: 4 });
      await store.write(askAs("c", "r"));
      const close = { type: "close_wait", now: noon + 5, id: "task-c", token: "t1", key: "r" } as const;
      await store.write({ ...close, error: "{}" });
      assertMembers(await store.get(id), { openInputs: 0, childInputs: 0, updatedAt: noon + 5, version: 6 });
      assert.deepEqual(await inputsOf(store), []);
      const told = seen.filter((change) => change.id === id).map(({ version }) => version);
      assert.deepEqual(told, [3, 4, 5, 6]);
      // An answer that nothing waits for changes neither task.
      await store.write(answerAs("c", "q"));
      assertMembers(await store.get(id), { version: 6 });
    },

    "the questions of a task end with it": async ({ store }) => {
      await callDown(store, "a", "b", "c");
      for (const [name, key] of [
        ["b", "q"],
        ["c", "q"],
        ["c", "r"],
      ] as const)
        await store.write(askAs(name, key));
      await store.write({ type: "cancel", now: noon + 9, id: "task-c" });
      assertMembers(await store.get(id), { openInputs: 1, childInputs: 1, updatedAt: noon + 9 });
      assert.deepEqual(await inputsOf(store), [shown("b", "q")]);
      // Its parent is the root here: one commit changes the root once, and the call ends with that version.
      const seen = changesOf(store);
      await store.write(settleAs("b"));
      const after = await store.get(id);
      assertMembers(after, { openInputs: 0, childInputs: 0, openWaits: 0 });
      assertMembers(await store.journalEntry(id, "call-b"), { doneVersion: after?.version });
      assert.equal(seen.filter((change) => change.id === id).length, 1);
    },

    "questions of a task whose parent has ended are still the root's": async ({ store }) => {
      await callDown(store, "a", "b", "c");
      await store.write(askAs("c", "q"));
      await store.write(settleAs("b"));
      assert.deepEqual(await inputsOf(store), [shown("c", "q")]);
      await store.write(answerAs("c", "q"));
      assertMembers(await store.get(id), { openInputs: 0, childInputs: 0 });
    },

    "a root that has ended shows none, and is not changed by any": async ({ store }) => {
      await callDown(store, "a", "b");
      await store.write(askAs("b", "q"));
      await store.write(settleAs("a"));
      assert.deepEqual(await inputsOf(store), []);
      const ended = await store.get(id);
      assertMembers(ended, { openInputs: 0, childInputs: 0 });
      await store.write(askAs("b", "r"));
      await store.write(answerAs("b", "q"));
      await store.write(settleAs("b"));
      assert.deepEqual(await store.get(id), ended);
    },

    "questions below neither wake a parked root nor keep a handler from its rest": async ({ store }) => {
      await store.write(createRunning("a"));
      await store.write(callTool("a", "b"));
      await store.write(startTask("b"));
      await store.write(askAs("b", "q"));
      const held = { now: noon, id, token: "t1" };
      const rest = { runAfter: latestTime, open: 1 };
      assertMembers(await store.write({ ...held, type: "mark", rest }), { task: { waiting: true } });
      await store.write({ ...held, type: "park" });
      const parked = { state: "queued", lane: null, waiting: true, runAfter: latestTime };
      await store.write(askAs("b", "r"));
      assertMembers(await store.get(id), { ...parked, openInputs: 2 });
      await store.write(answerAs("b", "q"));
      assertMembers(await store.get(id), { ...parked, openInputs: 1 });
    },

    "who may not see the root sees no question": async ({ store }) => {
      await callDown(store, "a", "b");
      await store.write(askAs("b", "q"));
      assert.equal(await store.snapshot(id, () => false), undefined);
    },
  }),

  ...ownerCases("questions below", {
    "a root shows what a task asks that another owner runs": async ({ store, join }) => {
      const { store: other } = await join();
      await store.write(createRunning("a"));
      await store.write(callTool("a", "b"));
      await other.write(startTask("b"));
      const told = Promise.withResolvers<void>();
      store.subscribe((changes, by) => {
        if (by === "others" && changes !== "gap" && changes.some((change) => change.id === id))
          told.resolve();
      });
      await other.write(askAs("b", "q"));
      await told.promise;
      for (const each of [store, other]) assert.deepEqual(await inputsOf(each), [shown("b", "q")]);
      await store.write(answerAs("b", "q"));
      assertMembers(await other.get("task-b"), { openInputs: 0 });
    },
  }),
];
