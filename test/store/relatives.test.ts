import { describe, expect, test } from "vitest";
import { changesOfRelatives, type Relatives } from "../../src/store/relatives.ts";
import type { TaskChangeCommand } from "../../src/task/decide.ts";
import type { TaskRecord } from "../../src/task/record.ts";
import { noon, queuedRecord, runningRecord } from "../contract/sample-task.ts";
import { accepted, asked, failure, now, samples } from "../task/decided.ts";

const parent = { id: "parent", key: "call", root: "root", cancelGraceMs: 5 };
const child = runningRecord({ id: "child", generation: "child", parent, openInputs: 1 });
const call = asked("call", { kind: "call", method: null, request: "publish" });
const root = runningRecord({ id: "root", openInputs: 3, childInputs: 2, openWaits: 1 });
const caller = queuedRecord({ id: "parent", openWaits: 1, waiting: true, lane: null, runAfter: now + 9 });
const ask = asked("ask");

function around(before: TaskRecord, command: TaskChangeCommand, relatives: Partial<Relatives>) {
  const decision = accepted(before, command, ask);
  const all = { children: [], ...relatives };
  return changesOfRelatives(before, command, decision, all, { owner: "causer" });
}

describe("the end of a task", () => {
  test("counts at its root, and then ends the call of its parent", () => {
    const told = around(child, samples.settle, { root, parent: caller, call });
    expect(told).toHaveLength(2);
    expect(told[0]).toMatchObject({ task: { id: "root", openInputs: 2, childInputs: 1, version: 2 } });
    const woken = { id: "parent", openWaits: 0, lane: "woken", version: 2 };
    expect(told[1]).toMatchObject({ task: woken, journal: [{ key: "call", value: "{}", doneVersion: 2 }] });
  });

  test("is one change of a parent that is the root, and the call ends with the last version", () => {
    const link = { ...parent, id: "root" };
    const told = around({ ...child, parent: link }, samples.settle, { root, parent: root, call });
    expect(told).toHaveLength(1);
    expect(told[0]).toMatchObject({
      task: { id: "root", openInputs: 2, childInputs: 1, openWaits: 0, version: 3 },
      journal: [{ key: "call", doneVersion: 3 }],
    });
  });

  test.each([
    ["fail", '{"reason":"failed","error":{}}'],
    ["expire", '{"reason":"expired","error":{}}'],
    ["cancel", '{"reason":"cancelled"}'],
  ] as const)("by %s is how the call failed", (name, error) => {
    const before = { ...child, ...(name === "fail" && queuedRecord()), parent, sweepAt: now };
    const told = around(before, { ...samples[name], outcome: failure } as TaskChangeCommand, {
      parent: caller,
      call,
    });
    expect(told).toMatchObject([{ journal: [{ value: null, error }] }]);
  });

  test.each<[string, Partial<Relatives>]>([
    ["are gone", {}],
    ["cannot be read", { root: undefined, parent: undefined, call: undefined }],
    ["have ended", { root: { ...root, state: "settled" }, parent: { ...caller, state: "cancelled" }, call }],
    ["know of no such call", { parent: caller, call: undefined }],
    ["have seen its end", { parent: caller, call: { ...call, doneAt: noon } }],
  ])("is nothing to those above it that %s", (_, relatives) => {
    expect(around(child, samples.settle, relatives)).toEqual([]);
  });

  test("asks those to end that it called, each by its own grace, and once", () => {
    const below = (id: string, members: Partial<TaskRecord> = {}) =>
      queuedRecord({ id, parent: { ...parent, id: "root", cancelGraceMs: 20 }, ...members });
    const children = [below("one"), below("two", { cancelRequestedAt: noon, cancelBy: noon + 1 })];
    for (const name of ["settle", "cancel", "request_cancel"] as const) {
      const told = around(root, samples[name], { children });
      expect(told).toMatchObject([{ task: { id: "one", cancelRequestedAt: now, cancelBy: now + 20 } }]);
    }
  });
});

describe("a question of a task", () => {
  test("counts at the root alone, when it is put and when it has ended", () => {
    const more = around(
      child,
      { ...samples.open_input, input: { ...samples.open_input.input, key: "q" } },
      { root, parent: caller },
    );
    expect(more).toMatchObject([{ task: { id: "root", openInputs: 4, childInputs: 3, updatedAt: now } }]);
    for (const name of ["answer_inputs", "close_wait"] as const) {
      const fewer = around(child, samples[name], { root, parent: caller });
      expect(fewer).toMatchObject([{ task: { id: "root", openInputs: 2, childInputs: 1 } }]);
    }
  });

  test("that is answered too late changes nothing", () => {
    const late = { ...samples.answer_inputs, answers: [{ key: "x", value: "1" }] };
    expect(around(child, late, { root, parent: caller })).toEqual([]);
  });
});
