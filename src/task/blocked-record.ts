/** What it does to a record that a task is blocked, and that it continues. Pure, and used by `decide.ts`. */

import { type BlockCommands, blockedBy } from "./blocked.ts";
import { isTerminal } from "./outcome.ts";
import { pausing, ready } from "./queue.ts";
import type { TaskRecord } from "./record.ts";
import { transitions, type TaskEvent } from "./transition.ts";

/** The task, blocked, and tried again at `until`; `unbegun`: without its attempt. Clients may have seen that it began (S-027). */
export function blockedUntil(
  task: TaskRecord,
  command: BlockCommands["block" | "orphan"] & { readonly now: number; readonly unbegun?: true },
): TaskRecord {
  const { block, until, now, unbegun } = command;
  // The handler may not know yet of a cancel that was requested meanwhile, so it runs again now.
  const pause = task.cancelRequestedAt === null ? pausing(until) : ready("recovered", now);
  const blocked = blockedBy(block, task.blocked, now);
  const updatedAt = task.blocked === undefined ? now : task.updatedAt;
  const held = { ...task, ...pause, token: null, blocked, updatedAt };
  if (unbegun !== true) return held;
  const attempt = task.attempt - 1;
  const attempts = task.attempts.slice(0, -1);
  return { ...held, attempt, attempts, ...(attempt === 0 && { toolVersion: null }) };
}

/** Commands of an attempt that does not continue its task by them, or that a replay repeats before it comes to what blocks the task. */
const provesNothing: ReadonlySet<TaskEvent> = new Set([
  "block",
  "release",
  "update",
  "append",
  "write_piece",
]);

/** A blocked task continues once its attempt has done something that no replay does. */
export function unblockedBy(
  { type, now }: { readonly type: TaskEvent; readonly now: number },
  task: TaskRecord,
): TaskRecord {
  const { blocked, ...others } = task;
  const continues = transitions[type].underToken && !provesNothing.has(type);
  if (blocked === undefined || !(continues || isTerminal(task.state))) return task;
  return { ...others, updatedAt: now };
}
