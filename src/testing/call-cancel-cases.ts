import assert from "node:assert/strict";
import { latestTime } from "../task/time.ts";
import { assertMembers } from "./assert-members.ts";
import { callDown, callEnds, callTool, settleAs, startTask } from "./sample-call.ts";
import { createRunning, noon } from "./sample-task.ts";
import { storeCases } from "./store-case.ts";
import { changesOf } from "./told-changes.ts";

const id = "task-a";

export const callCancelCases = storeCases("cancels of calls", {
  "a request to cancel goes to the tasks that were called, once, and wakes them": async ({ store }) => {
    await callDown(store, "a", "b");
    await store.write(callTool("a", "c"));
    const asleep = { now: noon, id: "task-b", token: "t1" };
    await store.write({
      ...asleep,
      type: "sleep",
      key: "s",
      until: noon,
      rest: { runAfter: latestTime, open: 0 },
    });
    await store.write({ ...asleep, type: "park" });
    const seen = changesOf(store);
    const request = { type: "request_cancel", now: noon + 5, id, cancelBy: noon + 99 } as const;
    await store.write(request);
    const cancelled = { cancelRequestedAt: noon + 5, cancelBy: noon + 25, sweepAt: noon + 25 };
    const ready = { state: "queued", lane: "woken", waiting: false, runAfter: noon + 5 };
    assertMembers(await store.get("task-b"), { ...cancelled, ...ready });
    assertMembers(await store.get("task-c"), { ...cancelled, lane: "new" });
    const told = seen.map((change) => change.id).toSorted();
    assert.deepEqual(told, [id, "task-b", "task-c"]);
    await store.write({ ...request, now: noon + 6 });
    assert.equal(seen.length, 3);
    assertMembers(await store.get("task-b"), cancelled);
  },

  "what has ended leaves nothing running below it": async ({ store }) => {
    for (const [end] of callEnds) {
      const of = { ...end, id: `task-${end.type}` } as typeof end;
      await store.write(createRunning(end.type, { expiry: { from: "created", ms: 8 } }));
      await store.write(callTool(end.type, "b"));
      await store.write(startTask("b"));
      assertMembers(await store.write(of), { ok: true, task: { openWaits: 0 } });
      const kept = await store.get(of.id);
      assertMembers(await store.get("task-b"), { cancelRequestedAt: noon + 9, cancelBy: noon + 29 });
      // Its end does not change ended tasks.
      assertMembers(await store.write(settleAs("b")), { ok: true });
      assert.deepEqual(await store.get(of.id), kept);
      assertMembers(await store.journalEntry(of.id, "call-b"), { value: null, error: null, doneAt: null });
      await store.write({ type: "delete", now: noon, id: of.id });
    }
  },

  "a cancel goes on down the tree as the tasks end": async ({ store }) => {
    await callDown(store, "a", "b", "c");
    await store.write({ type: "request_cancel", now: noon + 5, id });
    await store.write({ type: "cancel", now: noon + 25, id: "task-b", scheduled: true });
    assertMembers(await store.get("task-c"), { cancelRequestedAt: noon + 25, cancelBy: noon + 45 });
    assertMembers(await store.journalEntry(id, "call-b"), { error: '{"reason":"cancelled"}' });
    await store.write({ type: "cancel", now: noon + 45, id: "task-c", scheduled: true });
    assertMembers(await store.unfinished("", 9), [{ id, openWaits: 0 }]);
  },

  "a call that was made after the request is told when its parent ends": async ({ store }) => {
    await store.write(createRunning("a"));
    await store.write({ type: "request_cancel", now: noon, id });
    await store.write(callTool("a", "b"));
    assertMembers(await store.get("task-b"), { cancelRequestedAt: null });
    await store.write({ type: "cancel", now: noon + 5, id });
    assertMembers(await store.get("task-b"), { cancelRequestedAt: noon + 5 });
  },

  "a task that was told before keeps its first time": async ({ store }) => {
    await callDown(store, "a", "b");
    await store.write({ type: "request_cancel", now: noon + 3, id: "task-b", cancelBy: noon + 4 });
    const seen = changesOf(store);
    await store.write(settleAs("a"));
    assertMembers(await store.get("task-b"), { cancelRequestedAt: noon + 3, cancelBy: noon + 4 });
    assert.equal(
      seen.some((change) => change.id === "task-b"),
      false,
    );
  },
});
