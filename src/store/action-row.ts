import type { Action, StoredAction } from "../task/record.ts";
import type { PausedTool } from "./admin-store.ts";
import { columnsOf, integer, text, textOrNull, type Row } from "./row.ts";

/** How long actions are kept (ms). Older ones are deleted when new ones are written. */
export const actionsKeptMs = 90 * 24 * 3_600_000;

export const actionColumns = ["at", "actor", "action", "task_id", "tool", "detail"] as const;
export const pausedColumns = ["tool", "since", "actor"] as const;

const actionAt = columnsOf(["seq", ...actionColumns]);
const pausedAt = columnsOf(pausedColumns);

/** The values for `actionColumns`. */
export function actionRowOf(
  { at, actor, action, taskId, tool, detail }: Action,
  stored: (text: string) => string,
): (string | number | null)[] {
  const orNull = (value: string | null): string | null => (value === null ? null : stored(value));
  return [at, stored(actor), stored(action), orNull(taskId), orNull(tool), orNull(detail)];
}

/** Reads a row of `seq` and `actionColumns`. */
export function actionOf(row: Row): StoredAction {
  return {
    seq: integer(row, actionAt.seq),
    at: integer(row, actionAt.at),
    actor: text(row, actionAt.actor),
    action: text(row, actionAt.action),
    taskId: textOrNull(row, actionAt.task_id),
    tool: textOrNull(row, actionAt.tool),
    detail: textOrNull(row, actionAt.detail),
  };
}

/** The values for `pausedColumns`. */
export function pausedRowOf(
  { tool, since, actor }: PausedTool,
  stored: (text: string) => string,
): (string | number)[] {
  return [stored(tool), since, stored(actor)];
}

/** Reads a row of `pausedColumns`. */
export function pausedOf(row: Row): PausedTool {
  return {
    tool: text(row, pausedAt.tool),
    since: integer(row, pausedAt.since),
    actor: text(row, pausedAt.actor),
  };
}
