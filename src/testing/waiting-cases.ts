import assert from "node:assert/strict";
import type { TaskStore } from "../store/store.ts";
import type { CommandResult, TaskCommand } from "../task/command.ts";
import { latestTime } from "../task/time.ts";
import { assertMembers, ownerCases, storeCases } from "./store-case.ts";
import {
  reclaimGone,
  aHandler,
  createRunning,
  noon,
  owner,
  askAs,
  callInChain,
  callTool,
  settleAs,
  startTask,
  changesOf,
} from "./sample-task.ts";
import { childInputKey } from "../task/journal.ts";

const id = "task-a";

const heldByT1 = { now: noon, id, token: "t1" } as const;

/** A question that is open until `deadlineAt`, and with which the handler parks. */
function ask(key: string, deadlineAt: number | null, openInputs = 1): TaskCommand<"open_input"> {
  const input = { key, method: "roots/list", params: "{}" } as const;
  const rest = { runAfter: deadlineAt ?? latestTime, open: openInputs };
  return { ...heldByT1, type: "open_input", input, requestHash: "hash", deadlineAt, rest };
}

function answer(key: string, now = noon + 1): TaskCommand<"answer_inputs"> {
  return { type: "answer_inputs", now, id, answers: [{ key, value: "1" }] };
}

function wake(store: TaskStore, now: number, limit = 9): Promise<CommandResult<"wake">> {
  return store.write({ type: "wake", now, limit });
}

/** A parked task with a question that is open until `deadlineAt`. */
async function park(store: TaskStore, deadlineAt: number | null): Promise<void> {
  await store.write(createRunning("a"));
  await store.write(ask("q", deadlineAt));
  await store.write({ ...heldByT1, type: "park" });
}

const parkedTask = { state: "queued", token: null, waiting: true, lane: null } as const;

const woken = { state: "queued", waiting: false, lane: "woken" } as const;

const works = { state: "running", waiting: false, lane: null, runAfter: null } as const;

export const waitingCases = [
  ...storeCases("waiting", {
    "a running task rests until its first deadline, and works again when something arrives": async ({
      store,
    }) => {
      await store.write(createRunning("a"));
      assertMembers(await store.write(ask("q", noon + 9)), {
        task: { state: "running", waiting: true, lane: null, runAfter: noon + 9 },
      });
      const rest = { runAfter: noon + 9, open: 1 };
      const comes: TaskCommand[] = [
        { ...heldByT1, type: "mark" },
        { ...heldByT1, type: "record_step", key: "k", value: "1", error: null },
        { ...heldByT1, type: "close_wait", key: "q", error: "{}" },
      ];
      for (const command of comes) {
        assertMembers(await store.write({ ...heldByT1, type: "mark", rest }), {
          task: { runAfter: noon + 9 },
        });
        assertMembers(await store.write(command), { ok: true, task: works });
      }
      const sleep = { ...heldByT1, type: "sleep", key: "s", until: noon + 5 } as const;
      assertMembers(await store.write({ ...sleep, rest: { runAfter: noon + 5, open: 0 } }), {
        task: { waiting: true, runAfter: noon + 5 },
      });
      assertMembers(await store.write({ ...heldByT1, type: "end_sleep", key: "s" }), { task: works });
    },

    "a rest does not count if something arrived first": async ({ store }) => {
      await store.write(createRunning("a"));
      await store.write(ask("q", null));
      await store.write(answer("q"));
      const rest = { runAfter: latestTime, open: 1 };
      assertMembers(await store.write({ ...heldByT1, type: "mark", rest }), { task: works });
      await store.write({ type: "request_cancel", now: noon, id });
      assertMembers(await store.write({ ...heldByT1, type: "mark", rest: { ...rest, open: 0 } }), {
        task: { runAfter: null },
      });
    },

    "a resting task is parked when its attempt releases it, and is not claimed": async ({ store }) => {
      await park(store, null);
      assertMembers(await store.get(id), { ...parkedTask, owner, runAfter: latestTime, openInputs: 1 });
      assert.equal(await store.hasClaimable([aHandler]), false);
      const claim = { type: "claim", now: noon, handlers: [aHandler], tokens: ["c1"] } as const;
      assertMembers(await store.write(claim), { tasks: [] });
      assertMembers(await wake(store, latestTime), { woken: 0 });
      assert.deepEqual(await store.write({ ...heldByT1, type: "mark" }), { ok: false, reason: "fenced" });
      await store.write(answer("q"));
      assertMembers(await store.get(id), { ...woken, owner, runAfter: noon + 1, openInputs: 0 });
      assertMembers(await store.write(claim), { tasks: [{ id, attempt: 2, ...works }] });
      await store.write({ ...heldByT1, token: "c1", type: "release" });
      assertMembers(await store.get(id), { state: "queued", waiting: false, lane: "recovered", owner: null });
    },

    "a task is not parked if something arrived while it was being released": async ({ store }) => {
      await store.write(createRunning("a"));
      await store.write(ask("q", null));
      await store.write(answer("q"));
      assertMembers(await store.write({ ...heldByT1, type: "park" }), { task: { ...woken, owner } });
    },

    "a cancel wakes a parked task, but an answer to no question does not": async ({ store }) => {
      await park(store, null);
      assertMembers(await store.write(answer("x")), { accepted: [], task: parkedTask });
      await store.write({ type: "request_cancel", now: noon + 2, id, cancelBy: noon + 9 });
      assertMembers(await store.get(id), { ...woken, runAfter: noon + 2, cancelBy: noon + 9 });
    },

    "a parked task is woken before its time where a later one is asked for": async ({ store }) => {
      await park(store, noon + 9);
      const command = { type: "wake", now: noon + 1, limit: 9 } as const;
      assertMembers(await store.write({ ...command, until: noon + 8 }), { woken: 0 });
      assertMembers(await store.write({ ...command, until: latestTime }), { woken: 1, unreadable: [] });
      assertMembers(await store.get(id), { ...woken, runAfter: noon + 1 });
    },
    "a parked task is woken at its time, and not before": async ({ store }) => {
      await park(store, noon + 5);
      assertMembers(await store.get(id), { ...parkedTask, runAfter: noon + 5 });
      assert.equal(await store.nextSweepAt(noon), noon + 5);
      assertMembers(await wake(store, noon + 4), { woken: 0, unreadable: [] });
      assertMembers(await wake(store, noon + 6), { woken: 1, unreadable: [] });
      assertMembers(await store.get(id), { ...woken, runAfter: noon + 6 });
      assertMembers(await wake(store, noon + 7), { woken: 0 });
    },

    "tasks to wake are listed in the order of their times": async ({ store }) => {
      for (const [name, until] of Object.entries({ b: noon + 2, a: noon + 1, c: noon + 3 })) {
        await store.write(createRunning(name));
        const of = { now: noon, id: `task-${name}`, token: "t1" } as const;
        const rest = { runAfter: until, open: 0 };
        await store.write({ ...of, type: "sleep", key: "s", until, rest });
        await store.write({ ...of, type: "release" });
      }
      assertMembers(await wake(store, noon + 9, 2), { woken: 2 });
      assertMembers(await store.get("task-c"), { ...parkedTask, owner: null });
      assertMembers(await store.get("task-a"), woken);
      assert.deepEqual(await store.orphanedHandlers(), []);
      assert.deepEqual(await store.queued(aHandler, { after: "", limit: 9, blocked: false }), [
        "task-a",
        "task-b",
        "task-c",
      ]);
    },
  }),

  ...ownerCases("waiting", {
    "a task that rested when its owner died is parked, without counting a crash": async ({
      store,
      join,
      kill,
    }) => {
      const { store: lost, owner: gone } = await join();
      await lost.write(createRunning("a"));
      await lost.write(ask("q", noon + 5));
      await kill(gone);
      await reclaimGone(store);
      assertMembers(await store.get(id), { ...parkedTask, owner: null, runAfter: noon + 5, crashes: 0 });
      await store.write(answer("q"));
      assertMembers(await store.get(id), { ...woken, openInputs: 0 });
    },

    "a cancel reports whether a running attempt will be notified": async ({ store, join, kill }) => {
      const { store: other, owner: of } = await join();
      for (const name of ["a", "b"]) {
        await other.write(createRunning(name));
        await other.write({ type: "mark", now: noon, id: `task-${name}`, token: "t1" });
      }
      assertMembers(await store.write({ type: "cancel", now: noon, id: "task-b" }), { released: false });
      await kill(of);
      assertMembers(await store.write({ type: "cancel", now: noon, id }), { released: true });
    },

    "a task parked by one owner stays with it while it lives, and any owner can wake it": async ({
      store,
      join,
      kill,
    }) => {
      const { store: other, owner: of } = await join();
      await park(other, noon + 5);
      assertMembers(await store.get(id), { ...parkedTask, owner: of });
      await wake(store, noon + 5);
      assert.equal(await store.hasClaimable([aHandler]), false);
      assert.equal(await other.hasClaimable([aHandler]), true);
      await kill(of);
      await reclaimGone(store);
      assert.equal(await store.hasClaimable([aHandler]), true);
    },
  }),
];

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
    "a root shows its own questions, then those of its descendants": async ({ store }) => {
      await callInChain(store, "a", "c", "d");
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

    "a descendant's question names the scopes that its task needs": async ({ store }) => {
      await callInChain(store, "a", "b");
      await store.write(callTool("b", "c", { requiredScopes: ["pay", "send"] }));
      await store.write(startTask("c"));
      await store.write(askAs("b", "q"));
      await store.write(askAs("c", "q"));
      const inputs = [shown("b", "q"), { ...shown("c", "q"), requiredScopes: ["pay", "send"] }];
      assert.deepEqual(await inputsOf(store), inputs);
    },

    "asking, answering or giving up a descendant's question changes the root and is announced": async ({
      store,
    }) => {
      await callInChain(store, "a", "b", "c");
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
      const notified = seen.filter((change) => change.id === id).map(({ version }) => version);
      assert.deepEqual(notified, [3, 4, 5, 6]);
      // An answer that nothing waits for changes neither task.
      await store.write(answerAs("c", "q"));
      assertMembers(await store.get(id), { version: 6 });
    },

    "a task's questions end with it": async ({ store }) => {
      await callInChain(store, "a", "b", "c");
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

    "questions of a task whose parent has ended still belong to the root": async ({ store }) => {
      await callInChain(store, "a", "b", "c");
      await store.write(askAs("c", "q"));
      await store.write(settleAs("b"));
      assert.deepEqual(await inputsOf(store), [shown("c", "q")]);
      await store.write(answerAs("c", "q"));
      assertMembers(await store.get(id), { openInputs: 0, childInputs: 0 });
    },

    "an ended root shows no questions, and none changes it": async ({ store }) => {
      await callInChain(store, "a", "b");
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

    "descendants' questions neither wake a parked root nor keep its handler from parking": async ({
      store,
    }) => {
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

    "a caller who may not see the root sees no questions": async ({ store }) => {
      await callInChain(store, "a", "b");
      await store.write(askAs("b", "q"));
      assert.equal(await store.snapshot(id, () => false), undefined);
    },
  }),

  ...ownerCases("questions below", {
    "a root shows the questions of a descendant that another owner runs": async ({ store, join }) => {
      const { store: other } = await join();
      await store.write(createRunning("a"));
      await store.write(callTool("a", "b"));
      await other.write(startTask("b"));
      const notified = Promise.withResolvers<void>();
      store.subscribe((changes, by) => {
        if (by === "others" && changes !== "gap" && changes.some((change) => change.id === id))
          notified.resolve();
      });
      await other.write(askAs("b", "q"));
      await notified.promise;
      for (const each of [store, other]) assert.deepEqual(await inputsOf(each), [shown("b", "q")]);
      await store.write(answerAs("b", "q"));
      assertMembers(await other.get("task-b"), { openInputs: 0 });
    },
  }),
];
