import type { TaskRecord } from "../../src/task/record.ts";
import type { Rest } from "../../src/task/queue.ts";

// What a task waits for, said once more: the part of its record that says whether its handler works, rests, is parked or pauses.

/** A handler that runs, or is about to. */
export const works = { waiting: false, waitsFor: null, runAfter: null };

/**
 * What an attempt says of its handler is so where it knows of as many questions, calls and waits for events as are open, or it would sleep
 * through an end. A task that is to be cancelled waits for nothing else.
 */
export function said(
  { cancelRequestedAt }: TaskRecord,
  open: number,
  rest: Rest | undefined,
): Partial<TaskRecord> {
  if (rest?.open !== open) return works;
  const runAfter = cancelRequestedAt === null ? rest.runAfter : null;
  return { waiting: true, waitsFor: rest.reason ?? null, runAfter };
}

/** Something has come for the task, whose handler is to see it. It is no reason to try one sooner that crashes or fails. */
export function goesOn({ state, waiting }: TaskRecord, now: number): Partial<TaskRecord> {
  if (state === "running") return works;
  return waiting ? { waiting: false, waitsFor: null, lane: "woken", runAfter: now } : {};
}

/** Its attempt gives the task up: it waits for what its handler waited for, or can be claimed at once. */
export function letGo(task: TaskRecord, now: number, lane: "woken" | "recovered"): Partial<TaskRecord> {
  const free = { state: "queued", token: null } as const;
  return task.runAfter === null ? { ...free, lane, waiting: false, waitsFor: null, runAfter: now } : free;
}

/** Its process is gone or stops: nobody asks for a permit for it any more, so it is to run and ask for itself. */
export function leftAlone(task: TaskRecord): TaskRecord {
  return task.waitsFor === "limit" ? { ...task, runAfter: null } : task;
}

/** The task pauses until a time, or is to run at once. */
export function pauses(until: number | undefined, now: number): Partial<TaskRecord> {
  const free = { state: "queued", token: null, owner: null, waiting: false } as const;
  if (until === undefined) return { ...free, lane: "recovered", waitsFor: null, runAfter: now };
  return { ...free, lane: null, waitsFor: "retry", runAfter: until };
}

/** A request to cancel, of which a handler hears that waits or pauses. */
export function askedToCancel(task: TaskRecord, now: number, by = Infinity): Partial<TaskRecord> {
  const { state, lane, waiting } = task;
  const first = Math.min(task.cancelBy ?? Infinity, by);
  const cancelBy = first === Infinity ? null : first;
  const pause = state === "queued" && lane === null && !waiting;
  const next = pause ? { lane: "recovered" as const, waitsFor: null, runAfter: now } : goesOn(task, now);
  return { cancelRequestedAt: now, cancelBy, ...next };
}
