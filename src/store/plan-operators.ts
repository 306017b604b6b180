import type { TaskCommand } from "../task/command.ts";
import {
  isHeld,
  type BulkCommands,
  type BulkJob,
  type BulkPlace,
  type BulkTask,
  type StartCommands,
} from "../task/bulk.ts";
import type { Facts } from "./facts.ts";
import { changed, type Plan, refused, type TableWrite } from "./table-write.ts";
import { extended } from "../task/expiry.ts";

/** Decides the commands about bulk jobs. */
export function planBulk(command: TaskCommand<keyof BulkCommands>, { bulkJob: before, owner }: Facts): Plan {
  if (command.type === "add_bulk_tasks") return added(command, before);
  if (command.type === "refuse_bulk_task") {
    const { task, code, message } = command;
    const end = { ...task, endedAs: "refused", created: null, code, message } as const;
    return { result: { ok: true }, writes: [{ do: "end_bulk_task", task: end }], changes: [] };
  }
  if (before === undefined) return refused("unknown");
  const { startedAt, endedAt, heldBy } = before;
  const { now } = command;
  switch (command.type) {
    case "start_bulk":
      return startedAt === null ? saved({ ...before, startedAt: now }) : refused("state");
    case "hold_bulk":
      if (endedAt !== null) return refused("finished");
      if (startedAt === null) return refused("state");
      if (heldBy !== owner && isHeld(before, command)) return refused("awaited");
      return saved({ ...before, heldBy: owner, heldUntil: command.until });
    case "end_bulk":
      if (endedAt !== null) return refused("finished");
      if (startedAt === null) return refused("state");
      return saved({
        ...before,
        endedAt: now,
        cancelledBy: command.cancelledBy,
        heldBy: null,
        heldUntil: null,
      });
    case "delete_bulk":
      if (startedAt !== null && endedAt === null) return refused("state");
      return { result: { ok: true }, writes: [{ do: "delete_bulk", id: command.id }], changes: [] };
  }
}

/** The plan of a command that is the action on a task of a bulk job. */
export function withBulkEnd(plan: Plan, command: TaskCommand, place: BulkPlace): Plan {
  const created = command.type === "create" ? command.task.id : null;
  const task = { ...place, endedAs: "done", created, code: null, message: null } as const;
  return { ...plan, writes: [...plan.writes, { do: "end_bulk_task", task }] };
}

function added({ job, from, taskIds }: TaskCommand<"add_bulk_tasks">, before: BulkJob | undefined): Plan {
  const { total } = before ?? { total: 0 };
  const known: BulkJob = before ?? {
    ...job,
    total,
    startedAt: null,
    endedAt: null,
    cancelledBy: null,
    heldBy: null,
    heldUntil: null,
  };
  const tasks = taskIds.map((taskId, index): BulkTask => {
    const open = { endedAs: null, created: null, code: null, message: null };
    return { job: job.id, place: from + index, taskId, ...open };
  });
  const save: TableWrite = { do: "save_bulk_job", job: { ...known, total: total + tasks.length } };
  const add: readonly TableWrite[] = tasks.length === 0 ? [] : [{ do: "add_bulk_tasks", tasks }];
  return { result: { ok: true }, writes: [save, ...add], changes: [] };
}

function saved(job: BulkJob): Plan {
  return { result: { ok: true, job }, writes: [{ do: "save_bulk_job", job }], changes: [] };
}

/** What operators do, besides bulk jobs: what they say of tools, processes and causes, and the record of each action. */

/** The plan of a command, with the record of the action if an operator gave it. */
export function withAction(plan: Plan, command: TaskCommand, { task }: Facts): Plan {
  const { by, now } = command;
  const { result } = plan;
  const isTooLate = "accepted" in result && result.accepted.length === 0; // somebody else has answered
  if (by === undefined || isTooLate) return plan;
  const { actor, action, detail, taskId, job = null } = by;
  const { id = null, tool = null } = job === null ? subjectOf(command) : {};
  const about = { taskId: taskId ?? id, tool: tool ?? task?.tool ?? null };
  const record = { at: now, actor, action, ...about, job, detail: detail ? JSON.stringify(detail) : null };
  return { ...plan, writes: [...plan.writes, { do: "keep_action", action: record }] };
}

function subjectOf(command: TaskCommand): { readonly id?: string; readonly tool?: string } {
  if (command.type === "create") return command.task;
  return { ...("id" in command && { id: command.id }), ...("tool" in command && { tool: command.tool }) };
}

/**
 * A change like any other, so watchers of the task are notified. If the task's process is gone, the store may already have forgotten that
 * process because the task was over: without an end, the task would run forever with no process.
 */
export function extend({ until }: TaskCommand<"extend">, { task: before, held }: Facts): Plan {
  if (before === undefined) return refused("unknown");
  if (before.state === "running" && held !== true) return refused("state");
  return changed(before, extended(before, until));
}

/** What operators say of tools, processes and causes. */
export function planSaid(command: TaskCommand<keyof StartCommands>): Plan {
  return { result: { ok: true }, writes: saidWrites(command), changes: [] };
}

function saidWrites(command: TaskCommand<keyof StartCommands>): readonly TableWrite[] {
  switch (command.type) {
    case "pause_tool":
      return [{ do: "pause_tool", paused: { tool: command.tool, since: command.now, actor: command.actor } }];
    case "resume_tool":
      return [{ do: "resume_tool", tool: command.tool }];
    case "drain_owner":
      return [{ do: "drain_owner", owner: command.owner, until: command.until }];
    case "mark_cause":
      return [{ do: "mark_cause", mark: command.mark }];
    case "record_action":
      return [];
  }
}
