import assert from "node:assert/strict";
import type { TaskStore } from "../store/store.ts";
import type { TaskCommand } from "../task/command.ts";
import { latestTime } from "../task/time.ts";
import { assertMembers, ownerCases, storeCases } from "./store-case.ts";
import {
  reclaimGone,
  callInChain,
  callEnds,
  callTool,
  settleAs,
  startTask,
  aHandler,
  createQueued,
  createRunning,
  kept,
  noon,
  owner,
  changesOf,
  wholeJournal,
} from "./sample-task.ts";

const id = "task-a";

const held = { now: noon + 1, id, token: "t1" } as const;

const rest = { runAfter: latestTime, open: 1 } as const;

/** A task that is parked with a call of another task, which runs. */
async function parkWithCall(store: TaskStore, child: TaskStore = store): Promise<void> {
  await store.write(createRunning("a"));
  await store.write({ ...callTool("a", "b", { expiry: { from: "created", ms: 8 } }), rest });
  await store.write({ ...held, type: "park" });
  await child.write(startTask("b"));
}

const woken = { state: "queued", waiting: false, lane: "woken", openWaits: 0 } as const;

export const callCases = [
  ...storeCases("calls", {
    "a call is journaled together with its task, which is queued for any owner": async ({ store }) => {
      await store.write(createRunning("a"));
      const seen = changesOf(store);
      const calls = { version: 2, openWaits: 1, openInputs: 0, journalled: true, waiting: false };
      assertMembers(await store.write(callTool("a", "b")), { ok: true, task: { id, ...calls } });
      assert.deepEqual(await wholeJournal(store, id), [
        {
          key: "call-b",
          kind: "call",
          method: null,
          request: "publish",
          requestHash: "h",
          value: null,
          error: null,
          deadlineAt: null,
          tries: 0,
          begunAt: noon + 1,
          doneAt: null,
          doneVersion: null,
        },
      ]);
      const parent = { id, key: "call-b", root: id, cancelGraceMs: 20 };
      const queued = {
        state: "queued",
        lane: "new",
        runAfter: noon + 1,
        owner: null,
        attempt: 0,
        version: 1,
      };
      assertMembers(await store.get("task-b"), { generation: "child", parent, ...queued });
      assertMembers(await store.request("task-b"), { arguments: '"b"' });
      assert.deepEqual(
        seen.map(({ id: of, version }) => [of, version]),
        [
          [id, 2],
          ["task-b", 1],
        ],
      );
      const claim = { type: "claim", now: noon, handlers: [aHandler], tokens: ["c1"] } as const;
      assertMembers(await store.write(claim), { tasks: [{ id: "task-b", parent }] });
    },

    "a call that takes up a failed one begins with what that has finished": async ({ store }) => {
      await store.write(createRunning("a"));
      await store.write({ ...callTool("a", "b"), journal: [kept] });
      assertMembers(await store.get("task-b"), { version: 1, journalled: true, attempt: 0, lane: "new" });
      assert.deepEqual(await wholeJournal(store, "task-b"), [kept]);
      assertMembers(await wholeJournal(store, id), [{ key: "call-b", doneAt: null }]);
      await store.write(startTask("b"));
      await store.write({ ...held, type: "record_step", id: "task-b", key: "next", value: "2", error: null });
      assertMembers(await wholeJournal(store, "task-b"), [kept, { key: "next", doneVersion: 3 }]);
    },

    "a refused call stores nothing": async ({ store }) => {
      await store.write(createRunning("a"));
      await store.write(createQueued("taken"));
      await store.write({ ...held, type: "record_step", key: "call-k", value: "1", error: null });
      const before = await store.get(id);
      const seen = changesOf(store);
      const refused = async (call: TaskCommand<"call_tool">, reason: string) =>
        assert.deepEqual(await store.write(call), { ok: false, reason });
      await refused(callTool("a", "k"), "duplicate");
      await refused(callTool("a", "taken"), "taken");
      await refused({ ...callTool("a", "b"), token: "t0" }, "fenced");
      await refused(callTool("x", "b"), "unknown");
      await store.write(createRunning("ended"));
      await store.write(settleAs("ended"));
      await refused(callTool("ended", "b"), "finished");
      assert.deepEqual(await store.get(id), before);
      assertMembers(await wholeJournal(store, id), [{ key: "call-k" }]);
      for (const name of ["b", "k"]) assert.equal(await store.get(`task-${name}`), undefined);
      assertMembers(await store.get("task-taken"), { parent: null });
      assert.equal(seen.filter((change) => change.id === id).length, 0);
    },

    "a child's end completes the call and wakes the parent; a failed child stays until its root is deleted":
      async ({ store }) => {
        for (const [end, error] of callEnds) {
          await parkWithCall(store);
          await store.write({
            ...held,
            type: "record_step",
            id: "task-b",
            key: "k",
            value: "1",
            error: null,
          });
          const seen = changesOf(store);
          assertMembers(await store.write(end), { ok: true, task: { id: "task-b", finishedAt: noon + 9 } });
          const ended = {
            error,
            value: error === null ? '{ "n":1.0 }' : null,
            doneAt: noon + 9,
            doneVersion: 4,
          };
          assertMembers(await store.journalEntry(id, "call-b"), ended);
          assertMembers(await store.get(id), { ...woken, owner, runAfter: noon + 9, version: 4 });
          const isKept = error !== null; // it has a step, so one that was cancelled is kept too
          const state = end.type === "cancel" ? "cancelled" : "settled";
          const notified = seen.map(({ id: of, version }) => [of, version]);
          assert.deepEqual(notified, [
            [id, 4],
            ["task-b", isKept ? 4 : null],
          ]);
          if (isKept) {
            assertMembers(await store.snapshot("task-b"), { task: { state, sweepAt: null } });
            assertMembers(await store.request("task-b"), { arguments: '"b"' });
            assertMembers(await wholeJournal(store, "task-b"), [{ key: "k" }]);
            await store.write({ type: "delete_expired", now: latestTime, limit: 9 });
            assertMembers(await store.get("task-b"), { state });
          } else assert.deepEqual(await store.write(end), { ok: false, reason: "unknown" });
          await store.write({ type: "cancel", now: noon, id });
          await store.write({ type: "delete", now: noon, id });
          assert.equal(await store.snapshot("task-b"), undefined);
          assert.equal(await store.request("task-b"), undefined);
          assert.deepEqual(await wholeJournal(store, "task-b"), []);
          assert.deepEqual(await store.write(end), { ok: false, reason: "unknown" });
        }
      },

    "a queued child that fails also completes its call": async ({ store }) => {
      const outcome = { kind: "error", body: '{ "code":-1 }' } as const;
      await store.write(createRunning("a"));
      await store.write(callTool("a", "b"));
      await store.write({ type: "fail", now: noon, id: "task-b", outcome, statusMessage: "no tool" });
      assertMembers(await store.journalEntry(id, "call-b"), {
        error: '{"reason":"failed","error":{ "code":-1 }}',
      });
      assertMembers(await store.get("task-b"), { state: "settled", outcomeKind: "error", sweepAt: null });
      await store.write({ type: "cancel", now: noon, id });
      assertMembers(await store.write({ type: "delete_expired", now: latestTime, limit: 9 }), {
        deleted: [id],
      });
      assert.equal(await store.get("task-b"), undefined);
    },

    "a child that fails after its root was deleted is deleted too": async ({ store }) => {
      await store.write(createRunning("a"));
      await store.write(callTool("a", "b"));
      await store.write(startTask("b"));
      await store.write({ type: "cancel", now: noon, id });
      await store.write({ type: "delete", now: noon, id });
      const outcome = { kind: "error", body: "{}" } as const;
      await store.write({ type: "settle", now: noon, id: "task-b", token: "t1", outcome });
      assert.equal(await store.get("task-b"), undefined);
    },

    "a child's end neither interrupts a working or paused parent nor lets it park": async ({ store }) => {
      await store.write(createRunning("a"));
      await store.write({ ...callTool("a", "b"), rest });
      await store.write(callTool("a", "c"));
      await store.write(startTask("b"));
      await store.write(startTask("c"));
      await store.write({ ...held, type: "mark", rest: { ...rest, open: 2 } });
      await store.write(settleAs("b"));
      const works = { state: "running", waiting: false, runAfter: null, openWaits: 1 };
      assertMembers(await store.get(id), works);
      assertMembers(await store.write({ ...held, type: "mark", rest: { ...rest, open: 2 } }), {
        task: works,
      });
      assertMembers(await store.write({ ...held, type: "mark", rest }), { task: { waiting: true } });
      await store.write({ ...held, type: "retry", until: noon + 50, statusMessage: "failed" });
      await store.write(settleAs("c"));
      const pauses = { state: "queued", waiting: false, lane: null, runAfter: noon + 50, openWaits: 0 };
      assertMembers(await store.get(id), pauses);
    },

    "descendants know their parent and their root": async ({ store }) => {
      await callInChain(store, "a", "b", "c", "d");
      const parent = { id: "task-c", key: "call-d", root: id, cancelGraceMs: 20 };
      assertMembers(await store.get("task-d"), { parent });
      const before = await store.get(id);
      await store.write(settleAs("d", "4"));
      assertMembers(await store.journalEntry("task-c", "call-d"), { value: "4" });
      assert.deepEqual(await store.get(id), before);
      await store.write(settleAs("c", "3"));
      await store.write(settleAs("b", "2"));
      assertMembers(await store.journalEntry(id, "call-b"), { value: "2" });
      assertMembers(await store.unfinished("", 9), [{ id }]);
    },

    "calls complete in the order of the commits": async ({ store }) => {
      await store.write(createRunning("a"));
      for (const name of ["b", "c", "d"]) await store.write(callTool("a", name));
      for (const name of ["b", "c", "d"]) await store.write(startTask(name));
      await Promise.all(["c", "d", "b"].map((name) => store.write(settleAs(name))));
      const order = (await wholeJournal(store, id)).map(({ key, doneVersion }) => [key, doneVersion]);
      assert.deepEqual(Object.fromEntries(order), { "call-b": 7, "call-c": 5, "call-d": 6 });
    },

    "a child task does not count against quotas": async ({ store }) => {
      const any = { unfinished: null, retained: null };
      const fits = async (name: string, quota: { perPrincipal?: object; total?: object }) => {
        const limits = { perPrincipal: { ...any, ...quota.perPrincipal }, total: { ...any, ...quota.total } };
        const { ok } = await store.write({ ...createQueued(name), quota: limits });
        if (ok) await store.write({ type: "cancel", now: noon, id: `task-${name}` });
        if (ok) await store.write({ type: "delete", now: noon, id: `task-${name}` });
        return ok;
      };
      await callInChain(store, "a", "b", "c");
      const two = { unfinished: 2, retained: 2 };
      const one = { unfinished: 1, retained: 1 };
      assert.equal(await fits("x", { perPrincipal: two, total: two }), true);
      assert.equal(await fits("x", { total: { unfinished: 1 } }), false);
      assert.equal(await fits("x", { perPrincipal: { retained: 1 } }), false);
      await store.write(settleAs("c"));
      assert.equal(await fits("x", { perPrincipal: two, total: two }), true);
      assert.equal(await fits("x", { total: { unfinished: 1 } }), false);
      await store.write(settleAs("a"));
      assert.equal(await fits("x", { perPrincipal: { unfinished: 1 }, total: { unfinished: 1 } }), true);
      assert.equal(await fits("x", { total: { retained: 1 } }), false);
      await store.write({ type: "delete", now: noon, id });
      assert.equal(await fits("x", { perPrincipal: one, total: one }), true);
      await store.write(settleAs("b"));
      assert.equal(await fits("x", { perPrincipal: one, total: one }), true);
    },

    "a child task is on no caller's list": async ({ store }) => {
      await callInChain(store, "a", "b");
      for (const principal of ["ann", undefined]) {
        const of = { generation: "2026-07-28", ...(principal !== undefined && { principal }) } as const;
        assertMembers(await store.list(of, null, 9, noon), [{ id }]);
      }
    },
  }),

  ...ownerCases("calls", {
    "a child run by another owner wakes its parent, which keeps its own owner": async ({ store, join }) => {
      const { store: other, owner: second } = await join();
      await parkWithCall(store, other);
      assertMembers(await store.get("task-b"), { owner: second });
      const notified = Promise.withResolvers<void>();
      store.subscribe((changes, by) => {
        if (by === "others" && changes !== "gap" && changes.some((change) => change.id === id))
          notified.resolve();
      });
      await other.write(settleAs("b", "1"));
      await notified.promise;
      assertMembers(await store.get(id), { ...woken, owner });
      assert.equal(await store.hasClaimable([aHandler]), true);
      assert.equal(await other.hasClaimable([aHandler]), false);
      assertMembers(await store.journalEntry(id, "call-b"), { value: "1" });
    },

    "a child task survives its owner and its parent's owner": async ({ store, join, kill }) => {
      const { store: second, owner: ofParent } = await join();
      const { store: third, owner: ofChild } = await join();
      await parkWithCall(second, third);
      await kill(ofChild);
      await reclaimGone(store);
      assertMembers(await store.get("task-b"), { state: "queued", owner: null, crashes: 1 });
      assertMembers(await store.get(id), { waiting: true, openWaits: 1 });
      await kill(ofParent);
      await reclaimGone(store);
      const claim = { type: "claim", now: noon + 9, handlers: [aHandler], tokens: ["t1", "t1"] } as const;
      assertMembers(await store.write(claim), { tasks: [{ id: "task-b", owner }] });
      await store.write(settleAs("b"));
      assertMembers(await store.write(claim), { tasks: [{ id, owner, attempt: 2 }] });
    },

    "of two concurrent ends, one completes the call": async ({ store, join }) => {
      const { store: other } = await join();
      await parkWithCall(store, other);
      const both = await Promise.all([
        other.write(settleAs("b", "1")),
        store.write({ type: "cancel", now: noon, id: "task-b" }),
      ]);
      assert.equal(both.filter(({ ok }) => ok).length, 1);
      assertMembers(await store.get(id), { openWaits: 0, version: 4 });
    },
  }),
];
