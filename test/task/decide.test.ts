import { describe, expect, test } from "vitest";
import type { TaskAttempt } from "../../src/task/attempts.ts";
import { decide, type TaskChangeCommand } from "../../src/task/decide.ts";
import type { TaskRecord } from "../../src/task/record.ts";
import { isTerminal, taskStates } from "../../src/task/outcome.ts";
import { nextState, transitions } from "../../src/task/transition.ts";
import { cancelledByCaller } from "../../src/task/status-text.ts";
import { noon, queuedRecord, runningRecord } from "../contract/sample-task.ts";
import {
  accepted,
  block,
  asked,
  asleep,
  changed,
  decideWith,
  failure,
  journalFor,
  names,
  now,
  outcome,
  refused,
  samples,
  token,
  type Samples,
} from "./decided.ts";

const blocked = { ...block, since: noon, tries: 1 };

describe("guards", () => {
  test.each(names)("%s on no task is unknown", (name) => {
    expect(decideWith(undefined, samples[name])).toEqual(refused("unknown"));
  });

  test.each(names)("%s follows the transition table in every state", (name) => {
    for (const state of taskStates) {
      // It may rest, be parked or pause, so that each of the events finds something to do.
      const due = { sweepAt: now, runAfter: now };
      const task = runningRecord({ state, token: state === "running" ? token : null, ...due, blocked });
      const next = nextState(state, name);
      const decision = decideWith(task, samples[name], ...journalFor(name));
      if (next !== undefined) expect(decision).toMatchObject({ ok: true, task: { state: next } });
      else if (isTerminal(state)) expect(decision).toEqual(refused("finished"));
      else expect(decision).toEqual(refused(transitions[name].underToken ? "fenced" : "state"));
    }
  });

  test.each(names.filter((name) => transitions[name].underToken))(
    "%s needs the token that holds the task",
    (name) => {
      expect(decideWith(runningRecord({ token: "t9" }), samples[name])).toEqual(refused("fenced"));
      expect(decideWith(runningRecord({ token }), samples[name], ...journalFor(name))).toMatchObject({
        ok: true,
      });
    },
  );

  test.each(names)("%s counts as one change", (name) => {
    const isOfQueued = ["start", "fail", "wake", "orphan", "unblock"].includes(name);
    const task = isOfQueued
      ? queuedRecord({ version: 7, lane: null, runAfter: now, blocked })
      : runningRecord({ version: 7, sweepAt: now });
    expect(accepted(task, samples[name], ...journalFor(name)).task.version).toBe(8);
  });
});

describe("a blocked task", () => {
  const running = runningRecord({
    attempt: 2,
    waiting: true,
    runAfter: now + 900,
    openInputs: 1,
    crashes: 1,
  });

  test("waits in the queue, for any process, and keeps what came", () => {
    const pause = {
      state: "queued",
      owner: null,
      token: null,
      waiting: false,
      waitsFor: "retry",
      runAfter: now + 50,
    };
    const expected = { ...pause, blocked: { ...block, since: now, tries: 1 }, updatedAt: now, version: 2 };
    expect(changed(running, samples.block)).toEqual(expected);
    const again = runningRecord({ attempt: 3, blocked });
    expect(changed(again, samples.block)).toMatchObject({ blocked: { ...block, since: noon, tries: 2 } });
    expect(changed(again, samples.block)).not.toHaveProperty("updatedAt");
    expect(accepted({ ...again, cancelRequestedAt: now }, samples.block).task).toMatchObject({
      lane: "recovered",
    });
  });

  test("does not count an attempt in which the handler did not begin", () => {
    const unbegun = { ...samples.block, unbegun: true } as const;
    const first = accepted(queuedRecord(), { ...samples.start, version: 3 }).task;
    const { task } = accepted(first, { ...unbegun, token: "t2" });
    // Clients may have seen that it began.
    expect(task).toMatchObject({ attempt: 0, attempts: [], toolVersion: null, startedAt: first.startedAt });
    const later = accepted({ ...task, attempt: 4, toolVersion: 1, startedAt: noon }, samples.start).task;
    const { attempt, toolVersion, startedAt } = accepted(later, { ...unbegun, token: "t2" }).task;
    expect([attempt, toolVersion, startedAt]).toEqual([4, 1, noon]);
  });

  test("stays blocked while it is tried, until its attempt does something new, or it ends", () => {
    const tried = runningRecord({ blocked, journalled: true, sweepAt: now });
    const lasting = [
      "release",
      "block",
      "update",
      "append",
      "write_piece",
      "reclaim",
      "request_cancel",
      "answer_inputs",
    ];
    for (const name of names) {
      const decision = decideWith(tried, samples[name], ...journalFor(name));
      if (!decision.ok) continue;
      const isLasting =
        lasting.includes(name) || !(transitions[name].underToken || decision.outcome !== null);
      expect([name, decision.task.blocked !== undefined]).toEqual([name, isLasting && name !== "cancel"]);
    }
  });

  test("whose tool nobody has can only be blocked while that is so", () => {
    const served = decide(queuedRecord(), samples.orphan, {
      owner: "o",
      entry: () => undefined,
      hasHandler: true,
    });
    expect(served).toEqual(refused("state"));
    expect(decideWith(queuedRecord(), samples.unblock)).toEqual(refused("state"));
  });
});

describe("attempts", () => {
  test("the first start gives the token and notes the time", () => {
    const held = { owner: "causer", lane: null, runAfter: null, token: "t2" };
    const expected = { ...held, state: "running", attempt: 1, startedAt: now, version: 2 };
    expect(changed(queuedRecord(), samples.start)).toEqual(expected);
  });

  test("a later start keeps the first one's time and ends the wait of the attempt before", () => {
    const before = queuedRecord({
      attempt: 3,
      startedAt: noon + 1,
      waiting: true,
      crashes: 2,
      journalled: true,
    });
    const held = { owner: "causer", lane: null, runAfter: null, token: "t2" };
    const expected = { ...held, state: "running", attempt: 4, waiting: false, version: 2 };
    expect(changed(before, samples.start)).toEqual(expected);
  });

  test("an orderly release is no crash", () => {
    const before = runningRecord({ crashes: 1, waiting: true });
    expect(changed(before, samples.release)).toEqual({
      state: "queued",
      owner: null,
      lane: "recovered",
      runAfter: now,
      token: null,
      waiting: false,
      version: 2,
    });
  });

  test("a handler that threw runs again after a pause, or at once where it is to hear of a cancel", () => {
    const given = { state: "queued", owner: null, token: null, crashes: 0, version: 2 };
    const pause = { waitsFor: "retry", runAfter: now + 50 };
    const told = { failures: 3, statusMessage: "failed", updatedAt: now };
    const before = runningRecord({ crashes: 1, failures: 2 });
    expect(changed(before, samples.retry)).toEqual({ ...given, ...told, ...pause });
    const cancelled = runningRecord({ crashes: 1, failures: 2, cancelRequestedAt: noon });
    const ready = { lane: "recovered", runAfter: now };
    expect(changed(cancelled, samples.retry)).toEqual({ ...given, ...told, ...ready });
  });

  test("a task that is given back until a time pauses, also where its handler is to hear of a cancel", () => {
    const until = { ...samples.release, until: now + 50 };
    const pause = { waitsFor: "retry", runAfter: now + 50 };
    const given = { state: "queued", owner: null, token: null, version: 2, ...pause };
    expect(changed(runningRecord({ crashes: 1 }), until)).toEqual(given);
    expect(changed(runningRecord({ cancelRequestedAt: noon }), until)).toEqual(given);
  });

  test("the version of the first attempt stays, whatever later ones have", () => {
    const version = (task: TaskRecord, of: number) => accepted(task, { ...samples.start, version: of }).task;
    expect(version(queuedRecord(), 2)).toMatchObject({ toolVersion: 2 });
    expect(version(queuedRecord({ attempt: 1, toolVersion: 2 }), 3)).toMatchObject({ toolVersion: 2 });
    expect(version(queuedRecord({ attempt: 1 }), 3)).toMatchObject({ toolVersion: null });
    expect(accepted(queuedRecord(), samples.start).task.toolVersion).toBeNull();
  });

  test("recovery counts a crash, unless the attempt only waited", () => {
    const lost = { state: "queued", token: null, owner: null, version: 2 };
    const crashes = (count: number) => changed(runningRecord({ crashes: count }), samples.reclaim);
    const ready = { ...lost, lane: "recovered", runAfter: now };
    expect(crashes(0)).toEqual({ ...ready, crashes: 1 });
    // A pause has no lane, and nothing that is waited for.
    const pauses = { ...lost, waitsFor: "retry" };
    expect(crashes(1)).toEqual({ ...pauses, crashes: 2, runAfter: now + 10 });
    expect(crashes(2)).toEqual({ ...pauses, crashes: 3, runAfter: now + 15 });
    expect(crashes(3)).toEqual({ ...ready, crashes: 4 });
    const waited = changed(runningRecord({ crashes: 1, waiting: true }), samples.reclaim);
    expect(waited).toEqual({ ...ready, waiting: false });
  });

  test("mark says that the attempt can be resumed, and that it works unless it brings a rest", () => {
    expect(changed(runningRecord(), samples.mark)).toEqual({ journalled: true, version: 2 });
    const rests = runningRecord({ journalled: true, waiting: true, runAfter: now + 5 });
    expect(changed(rests, samples.mark)).toEqual({ waiting: false, runAfter: null, version: 2 });
  });
});

describe("journal", () => {
  test("a step's end is progress: it clears the crashes", () => {
    const before = runningRecord({ crashes: 3, waiting: true });
    const { task, journal, outcome: none } = accepted(before, samples.record_step);
    expect(task).toEqual({ ...before, journalled: true, waiting: false, crashes: 0, version: 2 });
    expect(journal).toEqual([
      {
        key: "k",
        kind: "step",
        method: null,
        request: null,
        requestHash: null,
        value: "1",
        error: null,
        deadlineAt: null,
        tries: 0,
        begunAt: null,
        doneAt: now,
        doneVersion: 2,
      },
    ]);
    expect(none).toBeNull();
  });

  test("a step may have failed, or returned nothing", () => {
    const thrown = accepted(runningRecord(), {
      ...samples.record_step,
      value: null,
      error: '{"message":"no"}',
    });
    expect(thrown.journal).toMatchObject([{ value: null, error: '{"message":"no"}', doneAt: now }]);
    const nothing = accepted(runningRecord(), { ...samples.record_step, value: null });
    expect(nothing.journal).toMatchObject([{ value: null, error: null, doneAt: now }]);
  });

  test("a key is written once, whatever kind it is of", () => {
    expect(decideWith(runningRecord(), samples.record_step, asked("k"))).toEqual(refused("duplicate"));
    expect(decideWith(runningRecord(), samples.open_input, asked("ask"))).toEqual(refused("duplicate"));
  });

  test("a question is open, and shows", () => {
    const before = runningRecord({ openInputs: 1, crashes: 2 });
    const { task, journal } = accepted(before, samples.open_input, asked("other"));
    const effect = { journalled: true, crashes: 0, openInputs: 2, updatedAt: now, version: 2 };
    expect(task).toEqual({ ...before, ...effect });
    expect(journal).toEqual([asked("ask")]);
  });
});

describe("answers", () => {
  const answer = (...answers: (readonly [string, string])[]): TaskChangeCommand => ({
    ...samples.answer_inputs,
    answers: answers.map(([key, value]) => ({ key, value })),
  });

  test("the last answer ends the wait", () => {
    const before = runningRecord({ openInputs: 1, waiting: true, crashes: 1 });
    const { task, journal } = accepted(before, answer(["ask", '"yes"']), asked("ask"));
    const effect = { openInputs: 0, waiting: false, crashes: 0, updatedAt: now, version: 2 };
    expect(task).toEqual({ ...before, ...effect });
    expect(journal).toEqual([asked("ask", { value: '"yes"', doneAt: now, doneVersion: 2 })]);
  });

  test("with another question open the attempt goes on, too: it may have waited for this one alone", () => {
    const before = runningRecord({ openInputs: 2, waiting: true });
    const expected = { openInputs: 1, waiting: false, updatedAt: now, version: 2 };
    expect(changed(before, answer(["ask", "1"]), asked("ask"), asked("other"))).toEqual(expected);
  });

  test("only open inputs take an answer, and each the first one", () => {
    const before = runningRecord({ openInputs: 2, waiting: true });
    const { task, journal } = accepted(
      before,
      answer(["unknown", "0"], ["step", "0"], ["done", "0"], ["b", "1"], ["a", "2"], ["b", "3"]),
      asked("a"),
      asked("b"),
      asked("done", { value: "9", doneAt: noon }),
      asked("step", { kind: "step", doneAt: null }),
    );
    expect(journal.map(({ key, value }) => [key, value])).toEqual([
      ["b", "1"],
      ["a", "2"],
    ]);
    expect(journal.map(({ doneVersion }) => doneVersion)).toEqual([task.version, task.version]);
    expect(task.openInputs).toBe(0);
  });

  test("where none is taken nothing changes", () => {
    const before = runningRecord({ openInputs: 1, waiting: true });
    expect(accepted(before, answer(["x", "1"]), asked("ask"))).toEqual({
      ok: true,
      before,
      task: before,
      journal: [],
      outcome: null,
    });
  });

  test("a queued task takes answers for its next attempt", () => {
    const before = queuedRecord({ openInputs: 1 });
    expect(changed(before, samples.answer_inputs, asked("ask"))).toMatchObject({
      openInputs: 0,
      updatedAt: now,
    });
  });
});

describe("deadlines", () => {
  test("a question that is given up is closed for good, with its error", () => {
    const open = asked("ask", { deadlineAt: now });
    const task = runningRecord({ openInputs: 2, waiting: true, crashes: 1 });
    const { task: after, journal } = accepted(task, samples.close_wait, open);
    expect(after).toMatchObject({ openInputs: 1, waiting: false, crashes: 0, updatedAt: now });
    expect(journal).toEqual([{ ...open, error: "{}", doneAt: now, doneVersion: 2 }]);
    const [closed] = journal;
    if (closed === undefined) throw new Error("nothing was closed");
    expect(decideWith(after, samples.close_wait, closed)).toEqual(refused("state"));
    expect(accepted(after, samples.answer_inputs, closed).journal).toEqual([]);
  });

  test("an answer at the deadline is too late, one before it is not", () => {
    const task = runningRecord({ openInputs: 1, waiting: true });
    expect(accepted(task, samples.answer_inputs, asked("ask", { deadlineAt: now })).journal).toEqual([]);
    expect(accepted(task, samples.answer_inputs, asked("ask", { deadlineAt: now + 1 })).journal).toHaveLength(
      1,
    );
  });

  test("a sleep enters the journal with its deadline, under a key of its own", () => {
    const { task, journal } = accepted(runningRecord({ crashes: 2 }), samples.sleep);
    expect(task).toMatchObject({ waiting: false, journalled: true, crashes: 0 });
    expect(journal).toEqual([asleep]);
    expect(decideWith(task, samples.sleep, ...journal)).toEqual(refused("duplicate"));
  });

  test("a sleep ends once, which is progress, and the handler goes on, whatever question is open", () => {
    const sleeping = runningRecord({ waiting: true, crashes: 2 });
    const { task, journal } = accepted(sleeping, samples.end_sleep, asleep);
    expect(task).toEqual({ ...sleeping, waiting: false, crashes: 0, version: 2 });
    expect(journal).toEqual([{ ...asleep, doneAt: now, doneVersion: 2 }]);
    expect(decideWith(task, samples.end_sleep, ...journal)).toEqual(refused("state"));
    expect(changed({ ...sleeping, openInputs: 1 }, samples.end_sleep, asleep)).toEqual({
      waiting: false,
      crashes: 0,
      version: 2,
    });
  });

  test.each([undefined, asked("nap")])("what is no sleep cannot end as one", (entry) => {
    const journal = entry === undefined ? [] : [entry];
    expect(decideWith(runningRecord(), samples.end_sleep, ...journal)).toEqual(refused("state"));
  });
});

describe("update", () => {
  const update = (changes: Samples["update"]["changes"]) => ({ ...samples.update, changes });

  test("progress alone is no visible change of the task", () => {
    const progress = { progress: 1, total: 2 };
    expect(changed(runningRecord(), update({ progress }))).toEqual({ progress, updatedAt: now, version: 2 });
  });

  test("progress that is behind is passed over, with its total and its message", () => {
    const task = runningRecord({ progress: { progress: 2, total: 4 } });
    const behind = { progress: 1, total: 9, message: "again" };
    expect(changed(task, update({ progress: behind }))).toEqual({});
    const told = changed(task, update({ progress: behind, statusMessage: "x" }));
    expect(told).toEqual({ statusMessage: "x", updatedAt: now, version: 2 });
  });

  test("progress that stands still can change its total and its message", () => {
    const task = runningRecord({ progress: { progress: 2, total: 4, message: "half" } });
    const progress = { progress: 2, message: "still" };
    expect(changed(task, update({ progress }))).toEqual({ progress, updatedAt: now, version: 2 });
  });

  test("a status text can be set and taken away", () => {
    expect(changed(runningRecord(), update({ statusMessage: "x" }))).toEqual({
      statusMessage: "x",
      updatedAt: now,
      version: 2,
    });
    const cleared = changed(runningRecord({ statusMessage: "x" }), update({ statusMessage: null }));
    expect(cleared).toEqual({ statusMessage: null, updatedAt: now, version: 2 });
  });

  test("a new poll interval is a visible change", () => {
    expect(changed(runningRecord(), update({ pollIntervalMs: 5 }))).toEqual({
      pollIntervalMs: 5,
      updatedAt: now,
      version: 2,
    });
  });

  test("a new ttl is a new total from creation", () => {
    const expiry = { from: "created", ms: 500_000 } as const;
    const expected = { expiry, sweepAt: noon + 500_000, updatedAt: now, version: 2 };
    expect(changed(runningRecord(), update({ expiry }))).toEqual(expected);
  });
});

describe("ends", () => {
  const nobody = { owner: null, lane: null, runAfter: null, token: null, waiting: false };
  const end = { ...nobody, finishedAt: now, updatedAt: now, openInputs: 0, version: 2 };
  const held = runningRecord({ waiting: true, runAfter: now + 5, openInputs: 1, statusMessage: "x" });

  const over = (how: Pick<TaskAttempt, "end" | "error">): readonly TaskAttempt[] =>
    held.attempts.map((attempt) => ({ ...attempt, endedAt: now, ...how }));

  const cause: unknown = expect.stringMatching(/^c[0-9a-f]{16}$/);

  test("settle keeps the outcome, and no status text but its own", () => {
    const { task, journal, outcome: kept } = accepted(held, samples.settle);
    const attempts = over({ end: "settled" });
    const settled = { state: "settled", statusMessage: null, outcomeKind: "result" };
    expect(task).toEqual({ ...held, ...end, ...settled, attempts });
    expect([journal, kept]).toEqual([[], outcome]);
    expect(changed(held, { ...samples.settle, statusMessage: "done" })).toMatchObject({
      statusMessage: "done",
    });
  });

  test("fail ends a queued task with its error and its text", () => {
    const before = queuedRecord({ openInputs: 1 });
    const { task, outcome: kept } = accepted(before, samples.fail);
    const failed = { state: "settled", statusMessage: "failed", outcomeKind: "error", cause };
    expect(task).toEqual({ ...before, ...end, ...failed });
    expect(kept).toEqual(failure);
  });

  test("a task of no tool fails only while no owner has a handler for it", () => {
    const orphaned = { ...samples.fail, orphaned: true } as const;
    const circumstances = { owner: "causer", entry: () => undefined };
    expect(decide(queuedRecord(), orphaned, circumstances)).toMatchObject({ ok: true });
    expect(decide(queuedRecord(), orphaned, { ...circumstances, hasHandler: true })).toEqual(
      refused("state"),
    );
    expect(decide(queuedRecord(), samples.fail, { ...circumstances, hasHandler: true })).toMatchObject({
      ok: true,
    });
  });

  test("cancel has no outcome, and stands for its request where none came before", () => {
    const { task, outcome: none } = accepted(held, samples.cancel);
    const cancelled = { state: "cancelled", cancelRequestedAt: now, attempts: over({ end: "cancelled" }) };
    expect(task).toEqual({ ...held, ...end, ...cancelled, statusMessage: cancelledByCaller });
    expect(none).toBeNull();
    const requested = runningRecord({ cancelRequestedAt: noon + 1 });
    const { task: later } = accepted(requested, { ...samples.cancel, statusMessage: "stopped" });
    expect(later).toMatchObject({ cancelRequestedAt: noon + 1, statusMessage: "stopped" });
  });

  test("a request to cancel is noted, its first time stays, and the task goes on", () => {
    const told = { cancelRequestedAt: now, waiting: false, runAfter: null, version: 2 };
    expect(changed(held, samples.request_cancel)).toEqual(told);
    const requested = runningRecord({ cancelRequestedAt: noon + 1 });
    expect(changed(requested, samples.request_cancel)).toEqual({});
  });

  test("a request to cancel says until when the handler has time, and nothing takes that back", () => {
    const request = { ...samples.request_cancel, cancelBy: now + 5 };
    const { task } = accepted(held, request);
    expect(task).toMatchObject({ cancelRequestedAt: now, cancelBy: now + 5, sweepAt: now + 5 });
    expect(changed(task, { ...request, cancelBy: now + 9 })).toEqual({});
    const left = runningRecord({ cancelBy: now + 50, sweepAt: now + 50 });
    expect(accepted(left, { ...request, cancelBy: now + 90 }).task.cancelBy).toBe(now + 50);

    const sweep = { ...samples.cancel, scheduled: true, statusMessage: "The caller left." } as const;
    expect(accepted(task, { ...sweep, now: now + 5 }).task).toMatchObject({
      state: "cancelled",
      statusMessage: cancelledByCaller,
    });
    expect(accepted(left, { ...sweep, now: now + 50 }).task.statusMessage).toBe("The caller left.");
  });

  test("a cancel that is scheduled comes before the end of life, and waits for its time", () => {
    const late = runningRecord({ expiry: { from: "created", ms: 1_000 }, sweepAt: noon + 1_000 });
    const left = { ...late, cancelBy: now + 50, sweepAt: now + 50 };
    const scheduled = { ...samples.cancel, scheduled: true } as const;
    expect(decideWith(left, scheduled)).toEqual(refused("not_due"));
    expect(decideWith(late, scheduled)).toEqual(refused("not_due"));
    const due = { ...left, cancelBy: now, sweepAt: now };
    expect(accepted(due, scheduled).task).toMatchObject({ state: "cancelled", cancelBy: null });
    expect(decideWith(due, samples.expire)).toEqual(refused("not_due"));

    const extended = accepted(left, {
      ...samples.update,
      changes: { expiry: { from: "created", ms: 5_000 } },
    });
    expect(extended.task.sweepAt).toBe(now + 50);
  });

  test("a task that somebody wants is not cancelled for a caller that left", () => {
    const cancelUnlessWanted = { ...samples.cancel, unlessWanted: true } as const;
    const wanted = { owner: "causer", entry: () => undefined, awaitedBy: ["other"] };
    expect(decide(held, cancelUnlessWanted, wanted)).toEqual(refused("awaited"));
    expect(decide(held, samples.cancel, wanted).ok).toBe(true);
    expect(decideWith(runningRecord({ promised: true }), cancelUnlessWanted)).toEqual(refused("awaited"));
    // Its own process knows who waits there.
    expect(accepted(runningRecord({ awaitedBy: ["causer"] }), cancelUnlessWanted).task.state).toBe(
      "cancelled",
    );
  });

  test("a result that says that the tool failed is told apart in the record", () => {
    const failed = { kind: "error_result", body: '{"isError":true}' } as const;
    const { task, outcome: kept } = accepted(held, { ...samples.settle, outcome: failed });
    expect([task.outcomeKind, kept]).toEqual(["error_result", failed]);
  });

  test("a record that is dated by its end may be deleted later than that", () => {
    const before = runningRecord({ expiry: { from: "terminal", ms: 5 }, sweepAt: null });
    for (const name of ["settle", "cancel"] as const) {
      expect(accepted(before, samples[name]).task.sweepAt).toBe(now + 5);
    }
    const forever = runningRecord({ expiry: { from: "created", ms: null }, sweepAt: null });
    expect(accepted(forever, samples.settle).task.sweepAt).toBeNull();
  });

  test("expire waits for the end of life, then leaves the task visible for a while", () => {
    expect(decideWith(runningRecord({ sweepAt: now + 1 }), samples.expire)).toEqual(refused("not_due"));
    expect(decideWith(runningRecord({ sweepAt: null }), samples.expire)).toEqual(refused("not_due"));
    const expiry = { from: "created", ms: now - noon } as const;
    const before = runningRecord({ expiry, sweepAt: now });
    const { task, outcome: kept } = accepted(before, samples.expire);
    const failed = { statusMessage: "expired", outcomeKind: "error", cause };
    const expired = { state: "settled", ...failed, sweepAt: now + 9 };
    const attempts = over({ end: "expired", error: "expired" });
    expect(task).toEqual({ ...before, ...end, ...expired, attempts });
    expect(kept).toEqual(failure);
  });

  test("what outlived a limit on its run is kept as long as any other finished task", () => {
    const forever = runningRecord({ expiry: { from: "created", ms: null }, runUntil: now, sweepAt: now });
    expect(accepted(forever, samples.expire).task.sweepAt).toBeNull();
    const fromEnd = runningRecord({ expiry: { from: "terminal", ms: 500 }, runUntil: now, sweepAt: now });
    expect(accepted(fromEnd, samples.expire).task.sweepAt).toBe(now + 500);
  });
});
