import assert from "node:assert/strict";
import { childInputKey } from "../task/journal.ts";
import { latestTime } from "../task/time.ts";
import { assertMembers, storeCases } from "./store-case.ts";
import {
  askAs,
  callEnds,
  callInChain,
  callTool,
  changesOf,
  createRunning,
  noon,
  settleAs,
  startTask,
} from "./sample-task.ts";

const id = "task-a";

export const callCancelCases = storeCases("cancels of calls", {
  "a cancel request is passed to child tasks once, and wakes them": async ({ store }) => {
    await callInChain(store, "a", "b");
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
    const notified = seen.map((change) => change.id).toSorted();
    assert.deepEqual(notified, [id, "task-b", "task-c"]);
    await store.write({ ...request, now: noon + 6 });
    assert.equal(seen.length, 3);
    assertMembers(await store.get("task-b"), cancelled);
  },

  "an ended task leaves no running child tasks": async ({ store }) => {
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

  "a cancel moves down the tree as tasks end": async ({ store }) => {
    await callInChain(store, "a", "b", "c");
    await store.write({ type: "request_cancel", now: noon + 5, id });
    await store.write({ type: "cancel", now: noon + 25, id: "task-b", scheduled: true });
    assertMembers(await store.get("task-c"), { cancelRequestedAt: noon + 25, cancelBy: noon + 45 });
    assertMembers(await store.journalEntry(id, "call-b"), { error: '{"reason":"cancelled"}' });
    await store.write({ type: "cancel", now: noon + 45, id: "task-c", scheduled: true });
    assertMembers(await store.unfinished("", 9), [{ id, openWaits: 0 }]);
  },

  "a child called after the cancel request is cancelled when its parent ends": async ({ store }) => {
    await store.write(createRunning("a"));
    await store.write({ type: "request_cancel", now: noon, id });
    await store.write(callTool("a", "b"));
    assertMembers(await store.get("task-b"), { cancelRequestedAt: null });
    await store.write({ type: "cancel", now: noon + 5, id });
    assertMembers(await store.get("task-b"), { cancelRequestedAt: noon + 5 });
  },

  "a task that was already requested to cancel keeps the first request's time": async ({ store }) => {
    await callInChain(store, "a", "b");
    await store.write({ type: "request_cancel", now: noon + 3, id: "task-b", cancelBy: noon + 4 });
    const seen = changesOf(store);
    await store.write(settleAs("a"));
    assertMembers(await store.get("task-b"), { cancelRequestedAt: noon + 3, cancelBy: noon + 4 });
    assert.equal(
      seen.some((change) => change.id === "task-b"),
      false,
    );
  },

  "a cancelled child is kept with its root if it had begun something, and asks nothing more": async ({
    store,
  }) => {
    await callInChain(store, "a", "b");
    await store.write(callTool("b", "c"));
    await store.write(askAs("b", "q"));
    assertMembers(await store.snapshot(id), {
      inputs: [{ key: childInputKey({ taskId: "task-b", key: "q" }) }],
    });
    for (const name of ["b", "c"]) await store.write({ type: "cancel", now: noon + 9, id: `task-${name}` });
    assertMembers(await store.get("task-b"), { state: "cancelled", sweepAt: null });
    assert.equal(await store.get("task-c"), undefined);
    assertMembers(await store.snapshot(id), { inputs: [], task: { openInputs: 0, childInputs: 0 } });
    await store.write(settleAs("a"));
    await store.write({ type: "delete", now: noon + 9, id });
    assert.equal(await store.get("task-b"), undefined);
    await callInChain(store, "d", "e");
    await store.write(callTool("e", "f"));
    await store.write(settleAs("d"));
    await store.write({ type: "cancel", now: noon + 9, id: "task-e" });
    assert.equal(await store.get("task-e"), undefined);
  },
});
