import type { TaskCommand } from "../task/command.ts";
import { extended } from "../task/extend.ts";
import type { Facts } from "./facts.ts";
import type { Plan } from "./table-write.ts";

/** The plan of a command that somebody gave by hand, with the record of it. */
export function withAction(plan: Plan, command: TaskCommand, { task }: Facts): Plan {
  const { by, now } = command;
  if (by === undefined) return plan;
  const { actor, action, detail } = by;
  const { id = null, tool = null } = subjectOf(command);
  const about = { taskId: id, tool: tool ?? task?.tool ?? null };
  const record = { at: now, actor, action, ...about, detail: detail ? JSON.stringify(detail) : null };
  return { ...plan, writes: [...plan.writes, { do: "keep_action", action: record }] };
}

function subjectOf(command: TaskCommand): { readonly id?: string; readonly tool?: string } {
  if (command.type === "create") return command.task;
  return { ...("id" in command && { id: command.id }), ...("tool" in command && { tool: command.tool }) };
}

/** A change like any other: whoever watches the task is told. */
export function extend({ until }: TaskCommand<"extend">, { task: before }: Facts): Plan {
  if (before === undefined) return { result: { ok: false, reason: "unknown" }, writes: [], changes: [] };
  const task = { ...extended(before, until), version: before.version + 1 };
  const { id, version } = task;
  return {
    result: { ok: true, task },
    writes: [{ do: "save", task, journal: [], outcome: null }],
    changes: [{ id, version }],
  };
}

export function pauseOrResume(command: TaskCommand<"pause_tool" | "resume_tool">): Plan {
  const { type, tool, now } = command;
  const write =
    type === "pause_tool"
      ? ({ do: type, paused: { tool, since: now, actor: command.actor } } as const)
      : ({ do: type, tool } as const);
  return { result: { ok: true }, writes: [write], changes: [] };
}
