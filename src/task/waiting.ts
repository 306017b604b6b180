import type { QueueLane, TaskRecord } from "./record.ts";
import { latestTime, storable } from "./time.ts";

/** The state of a handler that rests: none of its steps runs, and everything in it waits. */
export interface Rest {
  /** When the first wait ends by itself (epoch ms), `latestTime` if none does; null for a task that must not be parked. */
  readonly runAfter: number | null;
  /** The number of its questions, calls and waits for events that the attempt knows to be open. */
  readonly open: number;
}

/** The part of a record that says what the task waits for. */
export type Waiting = Pick<TaskRecord, "waiting" | "lane" | "runAfter">;

/** True for a queued task that waits for something: it does not run before that. */
export function isParked({ state, lane, waiting }: TaskRecord): boolean {
  return state === "queued" && lane === null && waiting;
}

/** A running task whose handler rests, unless something has arrived that its attempt had not seen. */
export function resting(
  task: Pick<TaskRecord, "openInputs" | "childInputs" | "openWaits" | "cancelRequestedAt">,
  rest: Rest | undefined,
): Waiting {
  if (rest === undefined || rest.open !== ownOpen(task)) return working;
  const parks = rest.runAfter !== null && task.cancelRequestedAt === null;
  return { waiting: true, lane: null, runAfter: parks ? storable(rest.runAfter) : null };
}

/** How many of its own questions, calls and waits for events have not ended. */
export function ownOpen({
  openInputs,
  childInputs,
  openWaits,
}: Pick<TaskRecord, "openInputs" | "childInputs" | "openWaits">): number {
  return openInputs - childInputs + openWaits;
}

/** A running task whose handler works. */
export const working: Waiting = { waiting: false, lane: null, runAfter: null };

/** A queued task that can be claimed since `now`. */
export function ready(lane: QueueLane, now: number): Waiting {
  return { waiting: false, lane, runAfter: now };
}

/** A queued task that pauses until a time. */
export function pausing(until: number): Waiting {
  return { waiting: false, lane: null, runAfter: storable(until) };
}

/** A task with an ended wait: its handler must continue, even if it has other waits. */
export function stirred(task: TaskRecord, now: number): Waiting {
  if (task.state === "running") return working;
  return isParked(task) ? ready("woken", now) : task;
}

/** The same for a cancel request, which a pausing handler must also notice. */
export function roused(task: TaskRecord, now: number): Waiting {
  const pauses = task.state === "queued" && task.lane === null && !task.waiting;
  return pauses ? ready("recovered", now) : stirred(task, now);
}

/** A task whose attempt ends without an outcome: parked if its handler rests, otherwise `otherwise`. */
export function givenBack({ waiting, runAfter }: TaskRecord, otherwise: Waiting): Waiting {
  return runAfter === null ? otherwise : { waiting, lane: null, runAfter };
}

/** Whether the time has come at which a parked or pausing task continues by itself. */
export function isToWake({ state, lane, runAfter }: TaskRecord, now: number): boolean {
  return state === "queued" && lane === null && runAfter !== null && runAfter < latestTime && runAfter <= now;
}
