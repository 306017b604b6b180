import { describe, expect, test } from "vitest";
import type { JournalEntry } from "../../src/task/journal.ts";
import { latestTime } from "../../src/task/time.ts";
import { queuedRecord, runningRecord } from "../contract/sample-task.ts";
import {
  accepted,
  asked,
  asleep,
  changed,
  decideWith,
  journalFor,
  now,
  refused,
  samples,
} from "./decided.ts";

const [calling] = journalFor("end_call");
const [waits] = journalFor("send_event");
if (calling === undefined || waits === undefined) throw new Error("the samples have no such entries");
const step = (members: Partial<JournalEntry> = {}): JournalEntry =>
  asked("k", { kind: "step", method: null, request: null, requestHash: null, begunAt: null, ...members });
const failedOnce = step({ error: "{}", tries: 1, deadlineAt: now + 50 });
const parked = { lane: null, waiting: true, runAfter: latestTime };
const pausing = { lane: null, waiting: false, runAfter: now + 9 };

describe("steps that are to be tried again", () => {
  test("have not ended, and count as progress", () => {
    const before = runningRecord({ crashes: 2, waiting: true, runAfter: now + 5 });
    const { task, journal } = accepted(before, samples.retry_step);
    const works = { journalled: true, waiting: false, runAfter: null, crashes: 0, version: 2 };
    expect(task).toEqual({ ...before, ...works });
    expect(journal).toEqual([failedOnce]);
  });

  test("are written over by the next failure, and by their end, which keeps the count", () => {
    const again = { ...samples.retry_step, tries: 2, error: '"2"' };
    expect(accepted(runningRecord(), again, failedOnce).journal).toEqual([
      { ...failedOnce, tries: 2, error: '"2"' },
    ]);
    expect(accepted(runningRecord(), samples.record_step, failedOnce).journal).toEqual([
      step({ value: "1", tries: 1, doneAt: now, doneVersion: 2 }),
    ]);
  });

  test.each([step({ doneAt: now, doneVersion: 2 }), { ...asleep, key: "k" }, asked("k")])(
    "are no entries that have ended, nor of another kind",
    (entry) => {
      expect(decideWith(runningRecord(), samples.retry_step, entry)).toEqual(refused("duplicate"));
      expect(decideWith(runningRecord(), samples.record_step, entry)).toEqual(refused("duplicate"));
    },
  );

  test("take no key from what else begins", () => {
    for (const name of ["sleep", "call_tool", "wait_event"] as const) {
      const command = { ...samples[name], key: "k" };
      expect(decideWith(runningRecord(), command, failedOnce)).toEqual(refused("duplicate"));
    }
  });
});

describe("calls", () => {
  test("are open waits, which no client sees", () => {
    const before = runningRecord({ openWaits: 1 });
    expect(changed(before, samples.call_tool)).toEqual({ journalled: true, openWaits: 2, version: 2 });
    expect(accepted(before, samples.call_tool).journal).toEqual([calling]);
  });

  test("rest with what else is open, but for questions of tasks below", () => {
    const before = runningRecord({ openWaits: 1, openInputs: 5, childInputs: 4 });
    const rest = { runAfter: now + 5, open: 3 };
    expect(accepted(before, { ...samples.call_tool, rest }).task).toMatchObject({ runAfter: now + 5 });
    const counted = { ...samples.call_tool, rest: { ...rest, open: 7 } };
    expect(accepted(before, counted).task).toMatchObject({ runAfter: null });
  });

  test("end once, with a value or an error, and wake the task", () => {
    const before = queuedRecord({ openWaits: 1, crashes: 1, ...parked });
    const { task, journal } = accepted(before, samples.end_call, calling);
    const woken = { openWaits: 0, crashes: 0, waiting: false, lane: "woken", runAfter: now, version: 2 };
    expect(task).toEqual({ ...before, ...woken });
    expect(journal).toEqual([{ ...calling, value: "{}", doneAt: now, doneVersion: 2 }]);
    expect(decideWith(task, samples.end_call, ...journal)).toEqual(refused("state"));
    const failed = accepted(before, { ...samples.end_call, value: null, error: '"no"' }, calling);
    expect(failed.journal).toMatchObject([{ value: null, error: '"no"' }]);
  });

  test("cannot be given up, nor can what is no call end as one", () => {
    const giveUp = { ...samples.close_wait, key: "call" };
    expect(decideWith(runningRecord({ openWaits: 1 }), giveUp, calling)).toEqual(refused("state"));
    expect(decideWith(runningRecord(), samples.end_call, asked("call"))).toEqual(refused("state"));
    expect(decideWith(runningRecord(), samples.end_call)).toEqual(refused("state"));
  });
});

describe("events", () => {
  test("that are waited for end the wait, and leave a pause as it is", () => {
    const before = queuedRecord({ openWaits: 2, crashes: 1, ...pausing });
    const ended = { openWaits: 1, crashes: 0, version: 2 };
    expect(changed(before, samples.send_event, waits)).toEqual(ended);
    expect(accepted(before, samples.send_event, waits).journal).toEqual([
      { ...waits, value: "1", doneAt: now, doneVersion: 2 },
    ]);
  });

  test("that nobody waits for change nothing of the task", () => {
    expect(changed(runningRecord(), samples.send_event)).toEqual({});
    expect(changed(runningRecord(), samples.send_event, { ...waits, doneAt: now })).toEqual({});
  });

  test("are given up as questions are, and show to no client", () => {
    const before = runningRecord({ openWaits: 1, waiting: true, runAfter: now + 5 });
    const giveUp = { ...samples.close_wait, key: "wait" };
    expect(changed(before, giveUp, waits)).toEqual({
      openWaits: 0,
      waiting: false,
      runAfter: null,
      version: 2,
    });
    expect(accepted(before, giveUp, waits).journal).toMatchObject([{ error: "{}", doneAt: now }]);
  });
});

describe("counts of questions below", () => {
  test("change what clients see, and neither wake nor stir the task", () => {
    for (const state of [parked, pausing]) {
      const before = queuedRecord({ openInputs: 3, childInputs: 2, ...state });
      const counts = { openInputs: 4, childInputs: 3, updatedAt: now, version: 2 };
      expect(changed(before, samples.count_inputs)).toEqual(counts);
      const fewer = { openInputs: 1, childInputs: 0, updatedAt: now, version: 2 };
      expect(changed(before, { ...samples.count_inputs, by: -2 })).toEqual(fewer);
    }
  });

  test("end with the task", () => {
    const before = runningRecord({ openInputs: 3, childInputs: 2, openWaits: 1 });
    const none = { openInputs: 0, childInputs: 0, openWaits: 0 };
    for (const name of ["settle", "cancel"] as const)
      expect(accepted(before, samples[name]).task).toMatchObject(none);
  });
});
