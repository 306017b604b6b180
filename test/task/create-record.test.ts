import { describe, expect, test } from "vitest";
import { createRecord, isSameCall } from "../../src/task/record-changes.ts";
import { createQueued, createRunning, noon, owner, sampleTask } from "../contract/sample-task.ts";

describe("createRecord", () => {
  test("without a token the task stands in the lane of new ones", () => {
    expect(createRecord(createQueued("a"), owner)).toEqual({
      ...sampleTask("a"),
      state: "queued",
      version: 1,
      createdAt: noon,
      updatedAt: noon,
      finishedAt: null,
      sweepAt: noon + 60_000,
      progress: null,
      parent: null,
      logged: 0,
      outputs: 0,
      openInputs: 0,
      childInputs: 0,
      openWaits: 0,
      cancelRequestedAt: null,
      cancelBy: null,
      awaitedBy: [],
      promised: false,
      owner,
      lane: "new",
      runAfter: noon,
      attempt: 0,
      attempts: [],
      toolVersion: null,
      failures: 0,
      limited: false,
      token: null,
      startedAt: null,
      journalled: false,
      waiting: false,
      waitsFor: null,
      crashes: 0,
      outcomeKind: null,
    });
  });

  test("with a token it already runs in its first attempt", () => {
    expect(createRecord(createRunning("a"), owner)).toEqual({
      ...createRecord(createQueued("a"), owner),
      state: "running",
      lane: null,
      runAfter: null,
      attempt: 1,
      attempts: [{ number: 1, owner, startedAt: noon, endedAt: null, end: null }],
      token: "t1",
      startedAt: noon,
    });
  });

  test("it says whether a caller waits here, and whether one may come back", () => {
    const task = createRecord({ ...createQueued("a"), awaited: true, promised: true }, owner);
    expect(task).toMatchObject({ awaitedBy: [owner], promised: true });
  });

  test("one that any process may run belongs to nobody until it is claimed", () => {
    expect(createRecord({ ...createQueued("a"), forAnyOwner: true }, owner).owner).toBeNull();
    expect(createRecord({ ...createRunning("a"), forAnyOwner: true }, owner).owner).toBe(owner);
  });

  test("the sweeper has nothing to do with a task that only its end dates", () => {
    expect(
      createRecord(createQueued("a", { expiry: { from: "terminal", ms: 5 } }), owner).sweepAt,
    ).toBeNull();
  });
});

describe("isSameCall", () => {
  const existing = createRecord(createQueued("a", { idempotencyKey: "i" }), owner);

  test("other ids, times and texts are the same call", () => {
    const again = createRunning("b", { idempotencyKey: "i", statusMessage: "x", pollIntervalMs: 1 });
    expect(isSameCall(existing, { ...again, now: noon + 1 })).toBe(true);
  });

  test("another request, or another generation, is another call", () => {
    expect(isSameCall(existing, createQueued("b", { requestHash: "other" }))).toBe(false);
    expect(isSameCall(existing, createQueued("b", { generation: "plain" }))).toBe(false);
  });
});
