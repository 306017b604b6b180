import { endsAt } from "./expiry.ts";
import type { TaskRecord } from "./record.ts";
import { isTerminal } from "./status.ts";
import { storable } from "./time.ts";

/**
 * The record of a task that is kept until `until` (epoch ms), and may run as long if it has not ended; `null`: no end. What clients see of
 * a finished task never changes: it is only deleted later.
 */
export function extended(task: TaskRecord, until: number | null): TaskRecord {
  const end = until === null ? null : storable(until);
  if (isTerminal(task.state)) return { ...task, sweepAt: end };
  const { expiry, createdAt } = task;
  if (expiry.from === "terminal") return withEnd({ ...task, runUntil: end });
  const ms = end === null ? null : Math.max(0, end - createdAt);
  return withEnd({ ...task, expiry: { ...expiry, ms }, runUntil: end === null ? null : task.runUntil });
}

function withEnd(task: TaskRecord): TaskRecord {
  return { ...task, sweepAt: endsAt(task) };
}
