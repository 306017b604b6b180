import { isTerminal, type TaskState } from "./status.ts";
import { storable } from "./time.ts";

/**
 * How long a task is kept, in ms. From `created`, it also limits the task's run. From `terminal`, the task's end, it does not: the record's
 * `runUntil` does. `null`: no end.
 */
export interface Expiry {
  readonly from: "created" | "terminal";
  readonly ms: number | null;
}

/** An expiry as stored: a duration too long for an exact number becomes the longest one. */
export function storableExpiry({ from, ms }: Expiry): Expiry {
  return { from, ms: ms === null ? null : storable(ms) };
}

/**
 * When an unfinished task reaches its end of life (epoch ms). If its expiry sets no such time, because it has no end or counts from the
 * task's end, `runUntil` does.
 */
export function expiresAt(expiry: Expiry, createdAt: number, runUntil: number | null): number | null {
  return expiry.from === "created" && expiry.ms !== null ? storable(createdAt + expiry.ms) : runUntil;
}

/** When an unfinished task ends at the latest (epoch ms): its life is over, or its caller left and did not come back. */
export function endsAt({ expiry, createdAt, runUntil, cancelBy }: Life): number | null {
  const end = expiresAt(expiry, createdAt, runUntil);
  return end === null || cancelBy === null ? (end ?? cancelBy) : Math.min(end, cancelBy);
}

interface Life {
  readonly expiry: Expiry;
  readonly createdAt: number;
  readonly runUntil: number | null;
  readonly cancelBy: number | null;
}

/** Whether an unfinished task's time is over. The first process that sees it ends the task as expired or cancelled. */
export function hasExpired(task: Due, now: number): boolean {
  return !isTerminal(task.state) && isDue(task, now);
}

/** Whether a finished task's time is over: from then on, only the sweeper sees it. */
export function isOver(task: Due, now: number): boolean {
  return isTerminal(task.state) && isDue(task, now);
}

interface Due {
  readonly state: TaskState;
  readonly sweepAt: number | null;
}

function isDue({ sweepAt }: Due, now: number): boolean {
  return sweepAt !== null && sweepAt <= now;
}
