import type { Refusal, TaskCommand } from "../task/command.ts";
import { extended } from "../task/expiry.ts";
import type { Facts } from "./facts.ts";
import type { Plan } from "./table-write.ts";

/** The plan of a command, with the record of the action if an operator gave it. */
export function withAction(plan: Plan, command: TaskCommand, { task }: Facts): Plan {
  const { by, now } = command;
  if (by === undefined) return plan;
  const { actor, action, detail, taskId } = by;
  const { id = null, tool = null } = subjectOf(command);
  const about = { taskId: taskId ?? id, tool: tool ?? task?.tool ?? null };
  const record = { at: now, actor, action, ...about, detail: detail ? JSON.stringify(detail) : null };
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
    writes: [{ do: "save", task, journal: [], outcome: null }],
    changes: [{ id, version }],
  };
}

function refused(reason: Refusal): Plan {
  return { result: { ok: false, reason }, writes: [], changes: [] };
}

export function pauseOrResume(command: TaskCommand<"pause_tool" | "resume_tool">): Plan {
  const { type, tool, now } = command;
  const write =
    type === "pause_tool"
      ? ({ do: type, paused: { tool, since: now, actor: command.actor } } as const)
      : ({ do: type, tool } as const);
  return { result: { ok: true }, writes: [write], changes: [] };
}
