import { describe, expect, test } from "vitest";
import type { TaskRecord } from "../../src/task/record.ts";
import { latestTime } from "../../src/task/time.ts";
import type { Rest } from "../../src/task/queue.ts";
import { noon, queuedRecord, runningRecord } from "../contract/sample-task.ts";
import { accepted, asked, changed, decideWith, journalFor, now, refused, samples } from "./decided.ts";

describe("rests", () => {
  const rest = { runAfter: now + 5, open: 1 };
  const marked = (task: TaskRecord, given: Rest) => changed(task, { ...samples.mark, rest: given });
  const asking = runningRecord({ journalled: true, openInputs: 1 });
  /** Its handler waits for an answer. */
  const rests = runningRecord({ ...asking, waiting: true, runAfter: now + 5 });

  test("a mark with a rest says until when the handler waits", () => {
    expect(marked(asking, rest)).toEqual({ waiting: true, runAfter: now + 5, version: 2 });
    expect(marked(rests, { ...rest, runAfter: now + 9 })).toEqual({ runAfter: now + 9, version: 2 });
    expect(marked(asking, { ...rest, runAfter: Infinity })).toMatchObject({ runAfter: latestTime });
  });

  test("a task that is not to be parked waits, and no more", () => {
    expect(marked(asking, { ...rest, runAfter: null })).toEqual({ waiting: true, version: 2 });
    expect(marked(rests, { ...rest, runAfter: null })).toEqual({ runAfter: null, version: 2 });
  });

  test.each([0, 2])(
    "a rest of an attempt that knows of %i open questions where 1 is open is none",
    (known) => {
      const works = { waiting: false, runAfter: null };
      expect(accepted(asking, { ...samples.mark, rest: { ...rest, open: known } }).task).toMatchObject(works);
      expect(accepted(rests, { ...samples.mark, rest: { ...rest, open: known } }).task).toMatchObject(works);
      const sleep = { ...samples.sleep, rest: { ...rest, open: known } };
      expect(accepted(asking, sleep).task).toMatchObject(works);
      // The question that it opens counts.
      const ask = { ...samples.open_input, rest: { ...rest, open: known } };
      expect(accepted(asking, ask).task).toMatchObject(
        known === 2 ? { waiting: true, runAfter: now + 5 } : works,
      );
    },
  );

  test("a question and a sleep bring their rest with them", () => {
    const ask = { ...samples.open_input, rest };
    const first = { journalled: true, waiting: true, runAfter: now + 5, openInputs: 1, updatedAt: now };
    expect(changed(runningRecord(), ask)).toEqual({ ...first, version: 2 });
    const sleep = { ...samples.sleep, rest: { runAfter: now + 50, open: 0 } };
    const asleepUntil = { journalled: true, waiting: true, runAfter: now + 50, version: 2 };
    expect(changed(runningRecord(), sleep)).toEqual(asleepUntil);
  });

  test("a task that is to be cancelled is not parked", () => {
    const requested = { ...asking, cancelRequestedAt: noon };
    expect(marked(requested, rest)).toEqual({ waiting: true, version: 2 });
    const ask = { ...samples.open_input, rest: { ...rest, open: 2 } };
    expect(accepted(requested, ask).task).toMatchObject({ waiting: true, runAfter: null });
  });

  test.each(["record_step", "close_wait", "end_sleep", "answer_inputs", "request_cancel"] as const)(
    "%s is something that has come: the handler works",
    (name) => {
      const { task } = accepted(rests, samples[name], ...journalFor(name));
      expect(task).toMatchObject({ state: "running", waiting: false, lane: null, runAfter: null });
    },
  );

  test("an update leaves the rest, unless it says itself whether the task waits", () => {
    const update = { ...samples.update, changes: { statusMessage: "x" } };
    expect(changed(rests, update)).toEqual({ statusMessage: "x", updatedAt: now, version: 2 });
    for (const waiting of [false, true]) {
      // Of what is not in the journal nothing would wake a task that is parked.
      const { task } = accepted(rests, { ...samples.update, changes: { waiting } });
      expect(task).toMatchObject({ waiting, runAfter: null });
    }
  });
});

describe("parking", () => {
  const rests = runningRecord({
    openInputs: 1,
    journalled: true,
    waiting: true,
    runAfter: now + 5,
    crashes: 2,
  });
  const parked = { state: "queued", token: null, version: 2 };
  /** A queued task that waits for an answer. */
  const asks = queuedRecord({ attempt: 1, openInputs: 1, waiting: true, lane: null, runAfter: now + 5 });
  const ready = (lane: string) => ({ state: "queued", token: null, waiting: false, lane, runAfter: now });

  test("a task that rests is parked where its attempt gives it up or is lost, which is no crash", () => {
    expect(changed(rests, samples.release)).toEqual({ ...parked, owner: null });
    expect(changed(rests, samples.reclaim)).toEqual({ ...parked, owner: null });
    // The process that parks it goes on, and stays the one that runs it.
    expect(changed(rests, samples.park)).toEqual(parked);
  });

  test("a task for which something has come since can be claimed at once", () => {
    const stirred = accepted(rests, samples.answer_inputs, asked("ask")).task;
    expect(accepted(stirred, samples.park).task).toMatchObject({ ...ready("woken"), owner: rests.owner });
    expect(accepted(stirred, samples.release).task).toMatchObject({ ...ready("recovered"), owner: null });
  });

  test("a task that waits and is not to be parked can be claimed at once", () => {
    const waits = { ...rests, runAfter: null };
    expect(accepted(waits, samples.park).task).toMatchObject(ready("woken"));
    expect(accepted(waits, samples.release).task).toMatchObject(ready("suspect"));
  });

  test("an answer and a cancel wake a parked task", () => {
    const woken = { lane: "woken", runAfter: now, waiting: false, version: 2 };
    const answered = { ...woken, openInputs: 0, updatedAt: now };
    expect(changed(asks, samples.answer_inputs, asked("ask"))).toEqual(answered);
    expect(changed(asks, samples.request_cancel)).toEqual({ ...woken, cancelRequestedAt: now });
    expect(changed(asks, samples.answer_inputs)).toEqual({});
  });

  test("one answer of several wakes it, too", () => {
    const both = { ...asks, openInputs: 2 };
    const { task } = accepted(both, samples.answer_inputs, asked("ask"), asked("other"));
    expect(task).toMatchObject({ ...ready("woken"), openInputs: 1 });
  });

  test("a task in a lane keeps its place, whatever comes", () => {
    const queued = { ...asks, waiting: false, lane: "recovered", runAfter: noon } as const;
    for (const name of ["answer_inputs", "request_cancel"] as const) {
      const { task } = accepted(queued, samples[name], ...journalFor(name));
      expect(task).toMatchObject({ lane: "recovered", runAfter: noon });
    }
  });

  test("no answer ends a pause, but a cancel does", () => {
    const pauses = { ...asks, waiting: false };
    const answered = accepted(pauses, samples.answer_inputs, ...journalFor("answer_inputs"));
    expect(answered.task).toMatchObject({ waiting: false, lane: null, runAfter: now + 5 });
    const cancelled = accepted(pauses, samples.request_cancel);
    expect(cancelled.task).toMatchObject({ waiting: false, lane: "recovered", runAfter: now });
  });

  test("a wake at its time, and not before, makes a parked or a pausing task one that can be claimed", () => {
    const due = { ...samples.wake, now: now + 5 };
    const woken = { runAfter: now + 9, version: 2 };
    for (const [waiting, lane] of [
      [true, "woken"],
      [false, "recovered"],
    ] as const) {
      const waits = { ...asks, waiting };
      expect(decideWith(waits, { ...due, now: now + 4 })).toEqual(refused("not_due"));
      expect(accepted(waits, due).task).toMatchObject({ lane, waiting: false, runAfter: now + 5 });
      expect(changed(waits, { ...due, now: now + 9 })).toEqual({
        ...woken,
        lane,
        ...(waiting && { waiting: false }),
      });
    }
  });

  test("no time wakes a task that only an answer can wake, nor one that is in a lane", () => {
    const endless = { ...asks, runAfter: latestTime };
    expect(decideWith(endless, { ...samples.wake, now: latestTime })).toEqual(refused("not_due"));
    expect(decideWith(queuedRecord({ runAfter: noon }), samples.wake)).toEqual(refused("not_due"));
  });

  test("a parked task ends as any other", () => {
    const ended = {
      state: "settled",
      owner: null,
      waiting: false,
      lane: null,
      runAfter: null,
      openInputs: 0,
    };
    expect(accepted(asks, samples.fail).task).toMatchObject(ended);
    expect(accepted({ ...asks, sweepAt: now }, samples.expire).task).toMatchObject(ended);
    expect(accepted(asks, samples.cancel).task).toMatchObject({ ...ended, state: "cancelled" });
  });
});
