import { HoldfastError } from "../../task/fault.ts";
import type { JsonRpcError } from "../../task/outcome.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { TaskSnapshot } from "../../task/snapshot.ts";
import { statusOf } from "../../task/status.ts";
import { errorText } from "../error-text.ts";
import { toolMetaOf, type ToolMeta } from "../tool-meta.ts";
import type { RelatedTask } from "../meta.ts";
import { relatedTask, type relatedTaskKey } from "./related-task.ts";

/** All statuses of a task (S-025). */
export const wireStatuses = [
  "submitted",
  "working",
  "input_required",
  "completed",
  "failed",
  "cancelled",
  "unknown",
] as const;

export type WireStatus = (typeof wireStatuses)[number];

/** Whether a status is final (S-030). `unknown` is final too. */
export function isFinal(status: WireStatus): boolean {
  return status === "completed" || status === "failed" || status === "cancelled" || status === "unknown";
}

/** A task in a list (S-045). */
export interface WireTask {
  readonly taskId: string;
  readonly status: WireStatus;
  /** Milliseconds from the end of the task; null: no end (S-036). */
  readonly keepAlive: number | null;
  /** Milliseconds between two polls (S-037). */
  readonly pollFrequency: number;
  /** Only for a failed task. */
  readonly error?: string;
  readonly _meta?: ToolMeta;
}

/** The answer to `tasks/get` (S-035). */
export interface GetTaskResult extends Omit<WireTask, "_meta"> {
  readonly _meta: Partial<ToolMeta> & { readonly [relatedTaskKey]: RelatedTask };
}

/** A task from its record alone, so that a page of them needs no bodies. `error` is for a failed task (S-083). */
export function wireTask(task: TaskRecord, error?: string): WireTask {
  const status = wireStatus(task);
  return {
    taskId: task.wireId,
    status,
    keepAlive: task.expiry.ms,
    pollFrequency: task.pollIntervalMs,
    ...(status === "failed" && error !== undefined ? { error } : {}),
    ...toolMetaOf(task),
  };
}

export function getTaskResult(snapshot: TaskSnapshot): GetTaskResult {
  const { task } = snapshot;
  const shown = wireTask(task, errorOf(snapshot));
  return { ...shown, _meta: { ...shown._meta, ...relatedTask(task.wireId) } };
}

/** Why a task failed, in full: no other answer contains it (S-042, S-083). Undefined for every other task. */
export function errorOf({ task, outcome }: TaskSnapshot): string | undefined {
  if (outcome === null || wireStatus(task) !== "failed") return undefined;
  return errorText(JSON.parse(outcome.body) as JsonRpcError);
}

/**
 * `submitted`: no attempt has begun (S-026). `unknown` is for other servers: here, the fate of a task is always known (S-032). A result
 * with `isError` completes the task (S-084, A-09).
 */
export function wireStatus(task: TaskRecord): WireStatus {
  const status = statusOf(task);
  if (status === "working" && task.startedAt === null) return "submitted";
  if (status !== "settled") return status;
  switch (task.outcomeKind) {
    case "result":
    case "error_result":
      return "completed";
    case "error":
      return "failed";
    case null:
      throw new HoldfastError("internal", `Task ${task.id} is settled and has no outcome.`);
  }
}
