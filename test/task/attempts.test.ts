import { describe, expect, test } from "vitest";
import type { TaskAttempt } from "../../src/task/attempts.ts";
import { createRecord } from "../../src/task/record-changes.ts";
import type { TaskChangeCommand } from "../../src/task/decide.ts";
import type { TaskRecord } from "../../src/task/record.ts";
import { createQueued, noon, owner, queuedRecord, runningRecord } from "../contract/sample-task.ts";
import { accepted, block, failure, journalFor, names, now, samples } from "./decided.ts";

const running = runningRecord();
const first: TaskAttempt = { number: 1, owner, startedAt: noon, endedAt: null, end: null };

function after(before: TaskRecord, command: TaskChangeCommand): readonly TaskAttempt[] {
  return accepted(before, command, ...journalFor(command.type)).task.attempts;
}

/** Begins and ends so many attempts, one after the other. */
function tried(task: TaskRecord, times: number, statusMessage = "busy"): TaskRecord {
  let next = task;
  for (let n = 0; n < times; n++) {
    next = accepted(next, { ...samples.start, token: "t1" }).task;
    next = accepted(next, { ...samples.retry, statusMessage }).task;
  }
  return next;
}

describe("attempts", () => {
  test("a task that is queued has none, and one that runs at once its first", () => {
    expect(createRecord(createQueued("a"), owner).attempts).toEqual([]);
    expect(running.attempts).toEqual([first]);
  });

  test("a start begins one of the process that claims the task", () => {
    expect(
      after(queuedRecord({ attempt: 1, attempts: [{ ...first, endedAt: 5, end: "lost" }] }), samples.start),
    ).toEqual([
      { ...first, endedAt: 5, end: "lost" },
      { number: 2, owner: "causer", startedAt: now, endedAt: null, end: null },
    ]);
  });

  test.each([
    [samples.release, { end: "released" }],
    [samples.park, { end: "parked" }],
    [samples.retry, { end: "retried", error: "failed" }],
    [samples.next_round, { end: "next_round" }],
    [samples.block, { end: "blocked", error: "It is another question." }],
    [samples.reclaim, { end: "lost", error: "The process that ran it is gone." }],
    [samples.settle, { end: "settled" }],
    [
      { ...samples.settle, outcome: failure, statusMessage: "no disk" },
      { end: "failed", error: "no disk" },
    ],
    [{ ...samples.settle, outcome: failure }, { end: "failed" }],
    [{ ...samples.settle, outcome: { kind: "error_result", body: "{}" } }, { end: "failed" }],
    [samples.cancel, { end: "cancelled" }],
    [samples.expire, { end: "expired", error: "expired" }],
  ] as const)("%o ends the one that runs", (command, how) => {
    const before = runningRecord({ sweepAt: now });
    expect(after(before, command)).toEqual([{ ...first, endedAt: now, ...how }]);
  });

  test("whatever else happens to a task leaves the list as it is, and so does the end of one that does not run", () => {
    const ends = [
      "start",
      "release",
      "park",
      "retry",
      "next_round",
      "block",
      "reclaim",
      "settle",
      "cancel",
      "expire",
    ];
    const parked = accepted(running, samples.park).task;
    for (const name of names) {
      const isAboutQueued = ["fail", "wake", "orphan", "unblock"].includes(name);
      const before = isAboutQueued
        ? { ...parked, lane: null, runAfter: now, blocked: { ...block, since: now, tries: 1 } }
        : runningRecord({ openInputs: 1, openWaits: 1 });
      if (!ends.includes(name)) expect([name, after(before, samples[name])]).toEqual([name, before.attempts]);
    }
    for (const command of [samples.cancel, samples.expire]) {
      const before = { ...parked, sweepAt: now };
      expect(after(before, command)).toBe(before.attempts);
    }
  });

  test("the last one that threw says where, and no other", () => {
    const stack = "Error: busy\n    at send (send.ts:4:11)";
    const [threw] = after(running, { ...samples.retry, stack });
    expect(threw).toMatchObject({ end: "retried", error: "failed", stack });
    const second = accepted(tried(queuedRecord({ attempts: threw ? [threw] : [], attempt: 1 }), 0), {
      ...samples.start,
      token: "t1",
    }).task;
    expect(after(second, samples.settle)).toMatchObject([{ stack }, { end: "settled" }]);
    const long = "s".repeat(5_000);
    const [earlier, last] = after(second, { ...samples.settle, outcome: failure, stack: long });
    expect(earlier).not.toHaveProperty("stack");
    expect(last?.stack).toBe(`${"s".repeat(3_999)}…`);
  });

  test("the first and the last nine stay", () => {
    const many = tried(queuedRecord(), 10);
    expect(many.attempts.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    const more = tried(many, 13);
    expect(more.attempts.map(({ number }) => number)).toEqual([1, 15, 16, 17, 18, 19, 20, 21, 22, 23]);
    expect(more.attempts.every(({ end, error }) => end === "retried" && error === "busy")).toBe(true);
  });

  test("an error is cut, so that the record stays small", () => {
    const { attempts } = tried(queuedRecord(), 30, "é".repeat(9_000));
    expect(attempts.map(({ error }) => error?.length)).toEqual(Array.from({ length: 10 }, () => 500));
    expect(JSON.stringify(attempts).length).toBeLessThan(7_000);
    const parked = { ...samples.start, token: "t1" };
    let task = queuedRecord();
    for (let n = 0; n < 30; n++) task = accepted(accepted(task, parked).task, samples.park).task;
    expect(JSON.stringify(task.attempts).length).toBeLessThan(1_300);
  });
});
