/** The record of a task that ends. */

import { causeOf } from "./cause.ts";
import type { TaskCommand } from "./command.ts";
import { deletableAt } from "./expiry.ts";
import { working } from "./queue.ts";
import type { TaskRecord } from "./record.ts";
import { storable } from "./time.ts";

/** With an outcome. A failure has a cause, whoever ended the task. */
export function settled(task: TaskRecord, command: TaskCommand<"settle" | "fail" | "expire">): TaskRecord {
  const { outcome, statusMessage = null, failure, now } = command;
  const { kind: outcomeKind } = outcome;
  const finished = finish(task, now);
  const visibleUntil = command.type === "expire" ? storable(command.visibleUntil) : 0;
  return {
    ...finished,
    statusMessage,
    outcomeKind,
    // A task that reached the limit on its run, but not its ttl, is kept as long as other finished tasks.
    sweepAt: finished.sweepAt === null ? null : Math.max(finished.sweepAt, visibleUntil),
    ...(outcomeKind !== "result" && { cause: causeOf(task.tool, statusMessage, failure) }),
  };
}

/** With or without an outcome. */
export function finish(task: TaskRecord, now: number): TaskRecord {
  return {
    ...task,
    ...working,
    token: null,
    openInputs: 0,
    childInputs: 0,
    openWaits: 0,
    cancelBy: null,
    finishedAt: now,
    updatedAt: now,
    sweepAt: deletableAt(task, now),
  };
}
