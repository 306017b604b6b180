import { HoldfastError } from "../../task/fault.ts";
import { isTerminal, statusOf } from "../../task/status.ts";
import type { JsonObject } from "../json-object.ts";
import type { TaskSnapshot } from "../../task/snapshot.ts";
import { calledTool, toolMetaOf, type ToolMeta } from "../tool-meta.ts";

export type WireStatus = "working" | "input_required" | "completed" | "cancelled" | "failed";

/** The members of every task, whatever its status. */
export interface WireTask {
  readonly taskId: string;
  readonly status: WireStatus;
  readonly statusMessage?: string;
  /** ISO 8601 */
  readonly createdAt: string;
  /** ISO 8601 */
  readonly lastUpdatedAt: string;
  /** Milliseconds from creation; null: no end. */
  readonly ttlMs: number | null;
  readonly pollIntervalMs: number;
  readonly _meta?: ToolMeta;
}

/** A JSON-RPC error object, as inlined into a failed task. */
export interface WireError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

export function wireTask(view: TaskSnapshot): WireTask {
  const { task } = view;
  const status = wireStatus(view);
  const statusMessage = statusText(task) || (status === "failed" ? diagnosis(view) : undefined);
  return {
    taskId: task.wireId,
    status,
    ...(statusMessage === undefined ? {} : { statusMessage }),
    createdAt: isoTime(task.createdAt),
    lastUpdatedAt: isoTime(task.updatedAt),
    ttlMs: task.expiry.ms,
    pollIntervalMs: task.pollIntervalMs,
    ...toolMetaOf(task),
  };
}

/**
 * Tasks of this generation have no progress notifications, so the text shows the progress. Without any text or progress, it
 * names the tool.
 */
function statusText(task: TaskSnapshot["task"]): string | undefined {
  const { state, statusMessage, progress } = task;
  if (isTerminal(state)) return statusMessage ?? undefined;
  if (progress === null) return statusMessage || calledTool(task);
  const { progress: done, total, message } = progress;
  const count = total === undefined ? String(done) : `${done} of ${total}`;
  const report = message === undefined ? count : `${count}: ${message}`;
  return statusMessage === null ? report : `${statusMessage} (${report})`;
}

/** `failed` is for JSON-RPC errors alone: a result with `isError` is a completed task. */
function wireStatus(view: TaskSnapshot): WireStatus {
  const status = statusOf(view.task);
  if (status !== "settled") return status;
  return outcomeOf(view).kind === "error" ? "failed" : "completed";
}

/** The result of a completed task, as the plain request would have answered it. */
export function resultOf(view: TaskSnapshot): JsonObject {
  return JSON.parse(outcomeOf(view).body) as JsonObject;
}

/** The error of a failed task, as the plain request would have answered it. */
export function errorOf(view: TaskSnapshot): WireError {
  return wireError(JSON.parse(outcomeOf(view).body) as WireError);
}

/** The code with which earlier revisions ask the client to open a URL. */
const urlElicitationRequired = -32042;

/** An error as this revision allows it: it asks only through questions (B-P-005). The URLs stay in its data. */
export function wireError(error: WireError): WireError {
  return error.code === urlElicitationRequired ? { ...error, code: -32603 } : error;
}

/** A failed task always says why, even if its handler set no text and its error has none. */
function diagnosis(view: TaskSnapshot): string {
  const { code, message } = errorOf(view);
  return message === "" ? `The request failed with code ${code}.` : message;
}

function outcomeOf({ task, outcome }: TaskSnapshot): NonNullable<TaskSnapshot["outcome"]> {
  if (outcome !== null) return outcome;
  throw new HoldfastError("internal", `Task ${task.id} is settled and has no outcome.`);
}

function isoTime(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
