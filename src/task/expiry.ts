import { isTerminal, type TaskState } from "./status.ts";
import { storable } from "./time.ts";

/**
 * How long a task is kept, in ms. From `created` it bounds the run of the task too. From `terminal`, its end, it does not:
 * `runUntil` of the record does. `null` is without end.
 */
export interface Expiry {
  readonly from: "created" | "terminal";
  readonly ms: number | null;
}

/** An expiry as it is stored: a duration beyond what numbers hold exactly is as good as the longest one. */
export function storableExpiry({ from, ms }: Expiry): Expiry {
  return { from, ms: ms === null ? null : storable(ms) };
}

/**
 * When an unfinished task reaches its end of life (epoch ms). Where its expiry sets it none, since it has no end or
 * counts from the terminal status, `runUntil` does.
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

/** Whether an unfinished task's time is over: it ends as expired or cancelled, whoever sees that first. */
export function hasExpired(task: Due, now: number): boolean {
  return !isTerminal(task.state) && isDue(task, now);
}

/** Whether a finished task's time is over: from then on it is deleted for all but the sweeper. */
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
