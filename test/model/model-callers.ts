import type { TaskCommand } from "../../src/task/command.ts";
import type { TaskRecord } from "../../src/task/record.ts";
import { isAlive } from "./model-owners.ts";
import { put, refuse, step, unchanged, type Model, type ModelStep } from "./model-state.ts";
import { withSweepAt } from "./model-task.ts";

// Who waits for a result: callers count by the owners at which they wait, and only while these live.

/** Other owners at which callers of the task wait. */
export function othersOf(model: Model, task: TaskRecord, by: string): readonly string[] {
  return task.awaitedBy.filter((owner) => owner !== by && isAlive(model, owner));
}

export function join(model: Model, by: string, { id, alone, key }: TaskCommand<"join">): ModelStep {
  const old = model.tasks.get(id);
  if (old === undefined) return refuse(model, "unknown");
  const { task } = old;
  if (key !== undefined && task.idempotencyKey !== key) return refuse(model, "state");
  const others = othersOf(model, task, by);
  const isTaken = others.length > 0 && (alone || task.finishedAt !== null);
  if (isTaken) return refuse(model, "awaited");
  return changed(model, task, { awaitedBy: [...others, by], cancelBy: null });
}

export function leave(model: Model, by: string, command: TaskCommand<"leave">): ModelStep {
  const old = model.tasks.get(command.id);
  if (old === undefined) return refuse(model, "unknown");
  const { task } = old;
  const others = othersOf(model, task, by);
  const awaitedBy = command.stays ? [...others, by] : others;
  const promised = task.promised || command.promised;
  const isWanted = promised || awaitedBy.length > 0;
  const scheduled = isWanted ? task.cancelBy : (command.cancelBy ?? task.cancelBy);
  const cancelBy = command.promised ? null : scheduled;
  return changed(model, task, { awaitedBy, promised, cancelBy });
}

/** A cancel that was asked for stays, and so does what has ended. */
function changed(model: Model, task: TaskRecord, members: Partial<TaskRecord>): ModelStep {
  const isFixed = task.finishedAt !== null || task.cancelRequestedAt !== null;
  const merged = { ...task, ...members, ...(isFixed && { cancelBy: task.cancelBy }) };
  const old = model.tasks.get(task.id);
  if (old === undefined || JSON.stringify(merged) === JSON.stringify(task))
    return unchanged(model, { ok: true, task });
  const next = { ...merged, version: task.version + 1 };
  const after = next.cancelBy === task.cancelBy ? next : withSweepAt(next);
  return step(put(model, { ...old, task: after }), { ok: true, task: after }, task.id);
}
