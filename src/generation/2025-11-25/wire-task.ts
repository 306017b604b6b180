import { HoldfastError } from "../../task/fault.ts";
import type { TaskRecord } from "../../task/record.ts";
import { isTerminal, statusOf } from "../../task/status.ts";
import { calledTool, toolMetaOf, type ToolMeta } from "../tool-meta.ts";

export type WireStatus = "working" | "input_required" | "completed" | "failed" | "cancelled";

/** A task in every answer, whatever its status (C-030 to C-036). */
export interface WireTask {
  readonly taskId: string;
  readonly status: WireStatus;
  readonly statusMessage?: string;
  /** ISO 8601 */
  readonly createdAt: string;
  /** ISO 8601 */
  readonly lastUpdatedAt: string;
  /** Milliseconds from creation; null: no end. */
  readonly ttl: number | null;
  readonly pollInterval: number;
  readonly _meta?: ToolMeta;
}

/**
 * A task from its record alone, so that a page of them needs no bodies. `diagnosis` is for a failed task without a text from its handler;
 * an unfinished task without one shows its tool's name. Progress is not shown, since there are progress notifications.
 */
export function wireTask(task: TaskRecord, diagnosis?: string): WireTask {
  const status = wireStatus(task);
  const first = isTerminal(task.state) ? undefined : calledTool(task);
  const statusMessage = task.statusMessage || (status === "failed" ? diagnosis : first);
  return {
    taskId: task.wireId,
    status,
    ...(statusMessage ? { statusMessage } : {}),
    createdAt: isoTime(task.createdAt),
    lastUpdatedAt: isoTime(task.updatedAt),
    ttl: task.expiry.ms,
    pollInterval: task.pollIntervalMs,
    ...toolMetaOf(task),
  };
}

/** A result with `isError` is a failed task here, unlike in other generations (C-116, A-09). */
export function wireStatus(task: TaskRecord): WireStatus {
  const status = statusOf(task);
  if (status !== "settled") return status;
  switch (task.outcomeKind) {
    case "result":
      return "completed";
    case "error_result":
    case "error":
      return "failed";
    case null:
      throw new HoldfastError("internal", `Task ${task.id} is settled and has no outcome.`);
  }
}

function isoTime(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
