import assert from "node:assert/strict";
import type { TaskStore } from "../store/store.ts";
import type { CommandResult } from "../task/command-result.ts";
import type { TaskCommand } from "../task/command.ts";
import { latestTime } from "../task/time.ts";
import { assertMembers } from "./assert-members.ts";
import { reclaimGone } from "./reclaim-gone.ts";
import { aHandler, createRunning, noon, owner } from "./sample-task.ts";
import { ownerCases, storeCases } from "./store-case.ts";

const id = "task-a";
const held = { now: noon, id, token: "t1" } as const;

/** A question that is open until `deadlineAt`, and with which the handler parks. */
function ask(key: string, deadlineAt: number | null, openInputs = 1): TaskCommand<"open_input"> {
  const input = { key, method: "roots/list", params: "{}" } as const;
  const rest = { runAfter: deadlineAt ?? latestTime, open: openInputs };
  return { ...held, type: "open_input", input, requestHash: "hash", deadlineAt, rest };
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
  await store.write({ ...held, type: "park" });
}

const parked = { state: "queued", token: null, waiting: true, lane: null } as const;
const woken = { state: "queued", waiting: false, lane: "woken" } as const;
const works = { state: "running", waiting: false, lane: null, runAfter: null } as const;

export const waitingCases = [
  ...storeCases("waiting", {
    "a running task rests until its first deadline, and works again when something has come": async ({
      store,
    }) => {
      await store.write(createRunning("a"));
      assertMembers(await store.write(ask("q", noon + 9)), {
        task: { state: "running", waiting: true, lane: null, runAfter: noon + 9 },
      });
      const rest = { runAfter: noon + 9, open: 1 };
      const comes: TaskCommand[] = [
        { ...held, type: "mark" },
        { ...held, type: "record_step", key: "k", value: "1", error: null },
        { ...held, type: "close_wait", key: "q", error: "{}" },
      ];
      for (const command of comes) {
        assertMembers(await store.write({ ...held, type: "mark", rest }), { task: { runAfter: noon + 9 } });
        assertMembers(await store.write(command), { ok: true, task: works });
      }
      const sleep = { ...held, type: "sleep", key: "s", until: noon + 5 } as const;
      assertMembers(await store.write({ ...sleep, rest: { runAfter: noon + 5, open: 0 } }), {
        task: { waiting: true, runAfter: noon + 5 },
      });
      assertMembers(await store.write({ ...held, type: "end_sleep", key: "s" }), { task: works });
    },

    "a rest that the attempt sees too late is none": async ({ store }) => {
      await store.write(createRunning("a"));
      await store.write(ask("q", null));
      await store.write(answer("q"));
      const rest = { runAfter: latestTime, open: 1 };
      assertMembers(await store.write({ ...held, type: "mark", rest }), { task: works });
      await store.write({ type: "request_cancel", now: noon, id });
      assertMembers(await store.write({ ...held, type: "mark", rest: { ...rest, open: 0 } }), {
        task: { runAfter: null },
      });
    },

    "a task that rests is parked where its attempt gives it back, and is not claimed": async ({ store }) => {
      await park(store, null);
      assertMembers(await store.get(id), { ...parked, owner, runAfter: latestTime, openInputs: 1 });
      assert.equal(await store.hasClaimable([aHandler]), false);
      const claim = { type: "claim", now: noon, handlers: [aHandler], tokens: ["c1"] } as const;
      assertMembers(await store.write(claim), { tasks: [] });
      assertMembers(await wake(store, latestTime), { woken: 0 });
      assert.deepEqual(await store.write({ ...held, type: "mark" }), { ok: false, reason: "fenced" });
      await store.write(answer("q"));
      assertMembers(await store.get(id), { ...woken, owner, runAfter: noon + 1, openInputs: 0 });
      assertMembers(await store.write(claim), { tasks: [{ id, attempt: 2, ...works }] });
      await store.write({ ...held, token: "c1", type: "release" });
      assertMembers(await store.get(id), { state: "queued", waiting: false, lane: "recovered", owner: null });
    },

    "a task for which something came while it was given back is not parked": async ({ store }) => {
      await store.write(createRunning("a"));
      await store.write(ask("q", null));
      await store.write(answer("q"));
      assertMembers(await store.write({ ...held, type: "park" }), { task: { ...woken, owner } });
    },

    "a cancel wakes a parked task, and an answer to nothing does not": async ({ store }) => {
      await park(store, null);
      assertMembers(await store.write(answer("x")), { accepted: [], task: parked });
      await store.write({ type: "request_cancel", now: noon + 2, id, cancelBy: noon + 9 });
      assertMembers(await store.get(id), { ...woken, runAfter: noon + 2, cancelBy: noon + 9 });
    },

    "a parked task is woken when its time has come, and not before": async ({ store }) => {
      await park(store, noon + 5);
      assertMembers(await store.get(id), { ...parked, runAfter: noon + 5 });
      assert.equal(await store.nextSweepAt(noon), noon + 5);
      assertMembers(await wake(store, noon + 4), { woken: 0, unreadable: [] });
      assertMembers(await wake(store, noon + 6), { woken: 1, unreadable: [] });
      assertMembers(await store.get(id), { ...woken, runAfter: noon + 6 });
      assertMembers(await wake(store, noon + 7), { woken: 0 });
    },

    "those that are to be woken come in the order of their times": async ({ store }) => {
      for (const [name, until] of Object.entries({ b: noon + 2, a: noon + 1, c: noon + 3 })) {
        await store.write(createRunning(name));
        const of = { now: noon, id: `task-${name}`, token: "t1" } as const;
        const rest = { runAfter: until, open: 0 };
        await store.write({ ...of, type: "sleep", key: "s", until, rest });
        await store.write({ ...of, type: "release" });
      }
      assertMembers(await wake(store, noon + 9, 2), { woken: 2 });
      assertMembers(await store.get("task-c"), { ...parked, owner: null });
      assertMembers(await store.get("task-a"), woken);
      assert.deepEqual(await store.orphanedHandlers(), []);
      assert.deepEqual(await store.queued(aHandler, 9), ["task-a", "task-b", "task-c"]);
    },
  }),

  ...ownerCases("waiting", {
    "what rested when its owner died is parked, and counts no crash": async ({ store, join, kill }) => {
      const { store: lost, owner: gone } = await join();
      await lost.write(createRunning("a"));
      await lost.write(ask("q", noon + 5));
      await kill(gone);
      await reclaimGone(store);
      assertMembers(await store.get(id), { ...parked, owner: null, runAfter: noon + 5, crashes: 0 });
      await store.write(answer("q"));
      assertMembers(await store.get(id), { ...woken, openInputs: 0 });
    },

    "a cancel tells whether an attempt is there that hears of it": async ({ store, join, kill }) => {
      const { store: other, owner: of } = await join();
      for (const name of ["a", "b"]) {
        await other.write(createRunning(name));
        await other.write({ type: "mark", now: noon, id: `task-${name}`, token: "t1" });
      }
      assertMembers(await store.write({ type: "cancel", now: noon, id: "task-b" }), { unheld: false });
      await kill(of);
      assertMembers(await store.write({ type: "cancel", now: noon, id }), { unheld: true });
    },

    "what one owner parked is run by it as long as it lives, and woken by any": async ({
      store,
      join,
      kill,
    }) => {
      const { store: other, owner: of } = await join();
      await park(other, noon + 5);
      assertMembers(await store.get(id), { ...parked, owner: of });
      await wake(store, noon + 5);
      assert.equal(await store.hasClaimable([aHandler]), false);
      assert.equal(await other.hasClaimable([aHandler]), true);
      await kill(of);
      await reclaimGone(store);
      assert.equal(await store.hasClaimable([aHandler]), true);
    },
  }),
];
