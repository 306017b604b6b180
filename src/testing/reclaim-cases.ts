import assert from "node:assert/strict";
import type { TaskStore } from "../store/store.ts";
import type { CommandResult, TaskCommand } from "../task/command.ts";
import { assertMembers, ownerCases, storeCases, type StoresUnderTest } from "./store-case.ts";
import { aHandler, createQueued, createRunning, noon } from "./sample-task.ts";

/** For a tool whose tasks are not parked. */
const rest = { runAfter: null, open: 0 };

const backoff = { baseMs: 1_000, maxMs: 3_000, maxCrashes: 6 };

function reclaim(
  store: TaskStore,
  owner: string,
  given: Partial<TaskCommand<"reclaim">> = {},
): Promise<CommandResult<"reclaim">> {
  return store.write({ type: "reclaim", now: noon, owner, after: "", limit: 9, backoff, ...given });
}

/** Tasks that run in another store than the tested one, of an owner that then counts as dead. */
async function abandon({ join, kill }: StoresUnderTest, names: readonly string[]): Promise<string> {
  const { store, owner } = await join();
  for (const name of names) await store.write(createRunning(name));
  await kill(owner);
  return owner;
}

export const reclaimCases = [
  ...ownerCases("reclaim", {
    "a dead owner's running tasks are released, and no others": async (under) => {
      const { store, join, kill } = under;
      const { store: lost, owner } = await join();
      await lost.write(createRunning("a"));
      await lost.write(createQueued("b"));
      await lost.write(createRunning("c"));
      await lost.write({ type: "cancel", now: noon, id: "task-c" });
      await lost.write(createRunning("d"));
      await lost.write({ type: "mark", now: noon, id: "task-d", token: "t1", rest });
      await store.write(createRunning("e"));
      await kill(owner);

      const done = { ok: true, reclaimed: 2, unreadable: [], next: null };
      assert.deepEqual(await reclaim(store, owner, { now: noon + 1 }), done);
      const given = { state: "queued", token: null, owner: null, lane: "recovered", runAfter: noon + 1 };
      assertMembers(await store.get("task-a"), { ...given, crashes: 1, version: 2 });
      assertMembers(await store.get("task-b"), { state: "queued", owner, crashes: 0, version: 1 });
      assertMembers(await store.get("task-c"), { state: "cancelled", version: 2 });
      assertMembers(await store.get("task-d"), { ...given, crashes: 0, journalled: true });
      assertMembers(await store.get("task-e"), { state: "running", version: 1 });
      assert.deepEqual(await reclaim(store, owner), { ...done, reclaimed: 0 });
    },

    "a live owner keeps its tasks": async ({ store, join }) => {
      const { store: other, owner } = await join();
      await other.write(createRunning("a"));
      assert.deepEqual(await reclaim(store, owner), { ok: false, reason: "state" });
      assertMembers(await store.get("task-a"), { state: "running", owner });
    },

    "tasks are released in pages, by id": async (under) => {
      const owner = await abandon(under, ["c", "a", "e", "d"]);
      const { store } = under;
      const page = { ok: true, unreadable: [] };
      assert.deepEqual(await reclaim(store, owner, { limit: 2 }), { ...page, reclaimed: 2, next: "task-c" });
      assertMembers(await store.get("task-d"), { state: "running" });
      const second = await reclaim(store, owner, { after: "task-c", limit: 3 });
      assert.deepEqual(second, { ...page, reclaimed: 2, next: null });
      for (const { state } of await store.unfinished("", 9)) assert.equal(state, "queued");
    },

    "expired tasks do not change and do not count": async (under) => {
      const owner = await abandon(under, ["a", "b"]);
      const { store } = under;
      const result = await reclaim(store, owner, { now: noon + 60_000 });
      assert.deepEqual(result, { ok: true, reclaimed: 0, unreadable: [], next: null });
      assertMembers(await store.get("task-a"), { state: "running", token: "t1", version: 1 });
    },

    "a task whose cancel is due is not released": async (under) => {
      const { store, join, kill } = under;
      const { store: lost, owner } = await join();
      await lost.write(createRunning("a"));
      const leave = { type: "leave", now: noon, id: "task-a", stays: false, promised: false } as const;
      await lost.write({ ...leave, cancelBy: noon + 20 });
      await kill(owner);
      assertMembers(await reclaim(store, owner, { now: noon + 20, limit: 1 }), { reclaimed: 0 });
      assertMembers(await reclaim(store, owner, { now: noon + 19 }), { reclaimed: 1 });
      assertMembers(await store.get("task-a"), { state: "queued", cancelBy: noon + 20, sweepAt: noon + 20 });
    },

    "an owner counts as dead until none of its tasks is left": async (under) => {
      const { store, join, kill } = under;
      const { store: lost, owner } = await join();
      await lost.write(createRunning("a"));
      await lost.write(createRunning("b"));
      const leave = { type: "leave", now: noon, id: "task-b", stays: false, promised: false } as const;
      await lost.write({ ...leave, cancelBy: noon + 20 });
      await kill(owner);
      assertMembers(await reclaim(store, owner, { after: "task-a", now: noon + 20 }), { reclaimed: 0 });
      assert.deepEqual((await store.renew()).gone, [owner]);
      assertMembers(await reclaim(store, owner, { now: noon + 20 }), { reclaimed: 1 });
      // Its cancel is due, and not yet done when its caller comes back.
      assert.deepEqual((await store.renew()).gone, [owner]);
      await store.write({ type: "join", now: noon + 20, id: "task-b", alone: true });
      assertMembers(await reclaim(store, owner, { now: noon + 20 }), { reclaimed: 1 });
      assert.deepEqual((await store.renew()).gone, []);
    },

    "a dead owner cannot write from the first released page on": async (under) => {
      const { store, join, kill } = under;
      const { store: lost, owner } = await join();
      await lost.write(createRunning("a"));
      await lost.write(createRunning("b"));
      await kill(owner);
      assertMembers(await reclaim(store, owner, { limit: 1 }), { reclaimed: 1, next: "task-a" });
      // It would claim tasks that no later page includes.
      const claim = { type: "claim", now: noon, handlers: [aHandler], tokens: ["late"] } as const;
      await assert.rejects(lost.write(claim), { code: "store_lost" });
      assertMembers(await reclaim(store, owner, { after: "task-a" }), { reclaimed: 1, next: null });
      for (const { state } of await store.unfinished("", 9)) assert.equal(state, "queued");
    },

    "each crash in a row makes the task wait longer, up to a limit": async (under) => {
      const { store, join, kill } = under;
      await store.write(createQueued("a"));
      await store.write({ type: "start", now: noon, id: "task-a", token: "t1" });
      await store.write({ type: "release", now: noon, id: "task-a", token: "t1" });
      for (const [before, pause] of [0, 1_000, 2_000, 3_000, 3_000, 0].entries()) {
        const { store: next, owner } = await join();
        const tokens = [`t-${owner}`];
        const claimed = await next.write({ type: "claim", now: noon + 60, handlers: [aHandler], tokens });
        assertMembers(claimed.tasks, [{ id: "task-a" }]);
        await kill(owner);
        await reclaim(store, owner);
        const lane = pause === 0 ? "recovered" : null;
        assertMembers(await store.get("task-a"), { lane, waiting: false, runAfter: noon + pause });
        assert.equal(await store.hasClaimable([aHandler]), pause === 0);
        const woken = await store.write({ type: "wake", now: noon + pause - 1, limit: 9 });
        assertMembers(woken, { woken: 0 });
        assertMembers(await store.write({ type: "wake", now: noon + pause, limit: 9 }), {
          woken: Number(pause > 0),
        });
        const ready = before === 0 || before === 5 ? "recovered" : "suspect";
        assertMembers(await store.get("task-a"), { lane: ready, runAfter: noon + pause });
      }
    },

    "a crash of several tasks counts against none, and then one suspect at a time runs": async (under) => {
      const { store, join, kill } = under;
      for (const name of ["a", "b", "c"]) {
        await store.write(createQueued(name));
        await store.write({ type: "start", now: noon, id: `task-${name}`, token: name });
        await store.write({ type: "release", now: noon, id: `task-${name}`, token: name });
      }
      const claim = async (by: TaskStore, tokens: readonly string[]) =>
        by.write({ type: "claim", now: noon + 60, handlers: [aHandler], tokens });
      for (const crash of [1, 2]) {
        const { store: next, owner } = await join();
        const tokens = ["a", "b", "c"].map((name) => `${name}-${owner}`);
        assert.equal((await claim(next, tokens)).tasks.length, 3);
        await kill(owner);
        await reclaim(store, owner);
        for (const name of ["a", "b", "c"]) {
          const { crashes, suspicion, attempts = [] } = (await store.get(`task-${name}`)) ?? {};
          const since = crash === 1 ? null : noon;
          assert.deepEqual([crashes, suspicion], [crash, { shared: crash, since, clearedAt: null }]);
          assert.match(attempts.at(-1)?.error ?? "", /2 other tasks too, so this does not count/);
        }
      }
      await store.write({ type: "wake", now: noon + 1_000, limit: 9 });
      const { store: other, owner } = await join();
      const first = await claim(other, ["t1", "t2"]);
      assertMembers(first, { heldBack: true, tasks: [{ crashes: 2 }] });
      // Whoever looks has to hear when it ends.
      assert.equal(await store.hasClaimable([aHandler]), true);
      assertMembers(await claim(store, ["t3"]), { heldBack: true, tasks: [] });
      // It is gone once more, beside one that is no suspect.
      await other.write({ ...createRunning("d"), now: noon });
      await kill(owner);
      await reclaim(store, owner);
      const [tried = { id: "" }] = first.tasks;
      assertMembers(await store.get(tried.id), {
        crashes: 3,
        suspicion: { shared: 2, since: noon, clearedAt: null },
      });
      assertMembers(await store.get("task-d"), {
        crashes: 1,
        suspicion: { shared: 1, since: null, clearedAt: null },
      });
      // Progress clears one, and the next may run.
      const [next = { id: "" }] = (await claim(store, ["t4"])).tasks.filter(({ crashes }) => crashes === 2);
      const step = { key: "s", value: "1", error: null } as const;
      await store.write({ type: "record_step", now: noon + 70, id: next.id, token: "t4", ...step });
      const cleared = { shared: 0, since: noon, clearedAt: noon + 70 };
      assertMembers(await store.get(next.id), { crashes: 0, suspicion: cleared });
      assert.equal(await store.hasClaimable([aHandler]), true);
    },

    "late writes of a dead owner are refused and change nothing": async (under) => {
      const { store, join, kill } = under;
      const { store: lost, owner } = await join();
      await lost.write(createRunning("a"));
      await kill(owner);
      await reclaim(store, owner);
      await store.write({ type: "start", now: noon + 1, id: "task-a", token: "t2" });
      const outcome = { kind: "result", body: "{}" } as const;
      const settle = { type: "settle", now: noon + 2, id: "task-a", token: "t1", outcome } as const;
      await assert.rejects(lost.write(settle), { code: "store_lost" });
      assert.deepEqual(await store.write(settle), { ok: false, reason: "fenced" });
      await assert.rejects(lost.write(createQueued("b")), { code: "store_lost" });
      assertMembers(await store.get("task-a"), { state: "running", token: "t2", attempt: 2 });
      assert.equal(await store.get("task-b"), undefined);
    },
  }),

  ...storeCases("unfinished", {
    "unfinished tasks are listed in pages, by id": async ({ store }) => {
      for (const name of ["e", "b", "d", "a", "c"]) await store.write(createQueued(name));
      await store.write({ type: "cancel", now: noon, id: "task-c" });
      await store.write({ type: "start", now: noon, id: "task-d", token: "t1" });
      const ids = async (after: string, limit: number) =>
        (await store.unfinished(after, limit)).map((task) => task.id);
      assert.deepEqual(await ids("", 2), ["task-a", "task-b"]);
      assert.deepEqual(await ids("task-b", 2), ["task-d", "task-e"]);
      assert.deepEqual(await ids("task-e", 2), []);
      // A page starts after the last one, whether or not that task is still unfinished.
      assert.deepEqual(await ids("task-c", 9), ["task-d", "task-e"]);
      assert.deepEqual((await store.unfinished("task-c", 1))[0], await store.get("task-d"));
    },
  }),
];
