import type { BulkCommands, BulkJob } from "../../src/task/bulk.ts";
import type { TaskCommand } from "../../src/task/command.ts";
import { refuse, unchanged, type Model, type ModelStep } from "./model-state.ts";

/** A job is previewed, then under way, and then over for good; one owner at a time works on it. */
export function bulk(model: Model, by: string, command: TaskCommand<keyof BulkCommands>): ModelStep {
  if (command.type === "refuse_bulk_task") return unchanged(model, { ok: true });
  if (command.type === "add_bulk_tasks") {
    const before = model.bulkJobs.get(command.job.id) ?? { ...command.job, ...fresh };
    const job = { ...before, total: before.total + command.taskIds.length };
    return unchanged(withJob(model, job), { ok: true });
  }
  const job = model.bulkJobs.get(command.id);
  if (job === undefined) return refuse(model, "unknown");
  const [isStarted, isOver] = [job.startedAt !== null, job.endedAt !== null];
  if (command.type === "delete_bulk") {
    if (isStarted && !isOver) return refuse(model, "state");
    const bulkJobs = new Map(model.bulkJobs);
    bulkJobs.delete(job.id);
    return unchanged({ ...model, bulkJobs }, { ok: true });
  }
  if (command.type === "start_bulk")
    return isStarted ? refuse(model, "state") : changed(model, { ...job, startedAt: command.now });
  if (isOver) return refuse(model, "finished");
  if (!isStarted) return refuse(model, "state");
  if (command.type === "end_bulk") {
    const { now: endedAt, cancelledBy } = command;
    return changed(model, { ...job, endedAt, cancelledBy, heldBy: null, heldUntil: null });
  }
  const heldUntil = job.heldUntil ?? 0;
  const isHeld = heldUntil > command.now && heldUntil <= command.until;
  if (job.heldBy !== null && job.heldBy !== by && isHeld) return refuse(model, "awaited");
  return changed(model, { ...job, heldBy: by, heldUntil: command.until });
}

const fresh = {
  total: 0,
  startedAt: null,
  endedAt: null,
  cancelledBy: null,
  heldBy: null,
  heldUntil: null,
};

function withJob(model: Model, job: BulkJob): Model {
  return { ...model, bulkJobs: new Map([...model.bulkJobs, [job.id, job]]) };
}

function changed(model: Model, job: BulkJob): ModelStep {
  return unchanged(withJob(model, job), { ok: true, job });
}
