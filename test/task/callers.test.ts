import { expect, it } from "vitest";
import { isWanted, withCaller, withoutCallers } from "../../src/task/decide.ts";
import type { TaskCommand } from "../../src/task/command.ts";
import type { TaskRecord } from "../../src/task/record.ts";
import { noon, queuedRecord, runningRecord } from "../contract/sample-task.ts";

const own = "own";
const limited = { expiry: { from: "created", ms: 100 }, createdAt: noon, sweepAt: noon + 100 } as const;
const task: TaskRecord = { ...runningRecord(), ...limited, idempotencyKey: "call" };
const ended: TaskRecord = { ...task, state: "settled", token: null, finishedAt: noon };

function join(given: TaskRecord, others: readonly string[], how: Partial<TaskCommand<"join">> = {}) {
  return withCaller(given, { type: "join", now: noon, id: given.id, alone: true, ...how }, own, others);
}

function leave(given: TaskRecord, others: readonly string[], how: Partial<TaskCommand<"leave">> = {}) {
  const nothing = { stays: false, promised: false, cancelBy: null };
  return withoutCallers(given, { type: "leave", now: noon, id: given.id, ...nothing, ...how }, own, others);
}

it.each<[string, TaskRecord, readonly string[], Partial<TaskCommand<"join">>, unknown]>([
  ["nobody waits for", task, [], {}, [own]],
  ["its own process waits for", { ...task, awaitedBy: [own] }, [], {}, [own]],
  ["only a dead process waits for", { ...task, awaitedBy: ["dead"] }, [], {}, [own]],
  ["another process waits for", { ...task, awaitedBy: ["b"] }, ["b"], {}, "awaited"],
  ["calls may share", { ...task, awaitedBy: ["dead", "b"] }, ["b"], { alone: false }, ["b", own]],
  ["another process delivers", ended, ["b"], { alone: false }, "awaited"],
  ["was not delivered", ended, [], {}, [own]],
  ["has the key", task, [], { key: "call" }, [own]],
  ["has another key", task, [], { key: "other" }, "state"],
  ["gave up its key", { ...ended, idempotencyKey: null }, [], { key: "call" }, "state"],
  ["is queued", queuedRecord(), [], {}, [own]],
])("joins, or does not, a task that %s", (_, given, others, how, expected) => {
  const after = join(given, others, how);
  expect(typeof after === "string" ? after : after.awaitedBy).toEqual(expected);
});

it("takes back that a task is to be cancelled when somebody waits for it, unless a requestor asked for that", () => {
  const scheduled = { ...task, cancelBy: noon + 10, sweepAt: noon + 10 };
  expect(join(scheduled, [])).toMatchObject({ cancelBy: null, sweepAt: noon + 100 });
  const asked = { ...scheduled, cancelRequestedAt: noon };
  expect(join(asked, [])).toMatchObject({ cancelBy: noon + 10, sweepAt: noon + 10 });
});

it("takes back that a task is to be cancelled when its caller turns out to have its id, and does not schedule it again", () => {
  const scheduled = { ...task, cancelBy: noon + 10, sweepAt: noon + 10 };
  const promised = leave(scheduled, [], { promised: true });
  expect(promised).toMatchObject({ cancelBy: null, sweepAt: noon + 100 });
  expect(leave(promised, [], { cancelBy: noon + 10 }).cancelBy).toBeNull();
  const asked = { ...scheduled, cancelRequestedAt: noon };
  expect(leave(asked, [], { promised: true })).toMatchObject({ cancelBy: noon + 10, sweepAt: noon + 10 });
});

it.each<[string, TaskRecord, readonly string[], Partial<TaskCommand<"leave">>, number | null]>([
  ["nobody else wants", task, [], {}, noon + 10],
  ["a dead process waits for", { ...task, awaitedBy: ["dead"] }, [], {}, noon + 10],
  ["another process waits for", task, ["b"], {}, null],
  ["others here wait for", task, [], { stays: true }, null],
  ["was promised", { ...task, promised: true }, [], {}, null],
  ["is promised now", task, [], { promised: true }, null],
  ["a requestor asked to cancel", { ...task, cancelRequestedAt: noon, cancelBy: noon + 5 }, [], {}, noon + 5],
  ["has ended", ended, [], {}, null],
])("schedules, or does not, the cancel of a task that %s", (_, given, others, how, expected) => {
  expect(leave(given, others, { cancelBy: noon + 10, ...how }).cancelBy).toBe(expected);
});

it("forgets its own process, and those that died", () => {
  const awaited = { ...task, awaitedBy: ["b", own, "dead"] };
  expect(leave(awaited, ["b"]).awaitedBy).toEqual(["b"]);
  expect(leave(awaited, ["b"], { stays: true }).awaitedBy).toEqual(["b", own]);
});

it("remembers a promise", () => {
  const promised = leave(task, [], { promised: true });
  expect(leave(promised, []).promised).toBe(true);
  expect([isWanted(promised, []), isWanted(task, ["b"]), isWanted(task, [])]).toEqual([true, true, false]);
});
