/** What operators do, besides bulk jobs: what they say of tools, processes and causes, and the record of each action. */

import type { Refusal, TaskCommand } from "../task/command.ts";
import { extended } from "../task/expiry.ts";
import type { StartCommands } from "../task/bulk.ts";
import type { Facts } from "./facts.ts";
import type { Plan, TableWrite } from "./table-write.ts";

/** The plan of a command, with the record of the action if an operator gave it. */
export function withAction(plan: Plan, command: TaskCommand, { task }: Facts): Plan {
  const { by, now } = command;
  if (by === undefined) return plan;
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
  const task = { ...extended(before, until), version: before.version + 1 };
  const { id, version } = task;
  return {
    result: { ok: true, task },
    writes: [{ do: "save", before, task, journal: [], outcome: null }],
    changes: [{ id, version }],
  };
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

function refused(reason: Refusal): Plan {
  return { result: { ok: false, reason }, writes: [], changes: [] };
}
