import type { CallToolResult } from "@modelcontextprotocol/client";
import type { JsonRpcError } from "../../task/outcome.ts";

/** A question of a task or of a call, as the server sent it. */
export interface OpenQuestion {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

interface RemoteTaskBase {
  readonly taskId: string;
  /** The tool that the task runs, if the server says so, as Holdfast servers do in `_meta["holdfast/tool"]`. */
  readonly tool?: string;
  /** Free text about the task's progress, for people and models. */
  readonly statusMessage?: string;
  /** ISO 8601, by the server's clock. In SEP-1686, which has no times: when this client first saw the task, by its own clock. */
  readonly createdAt: string;
  /** The time of its last change, in the same form. */
  readonly lastUpdatedAt: string;
  /** Milliseconds from `createdAt` after which the server may delete the task; `null`: never. Can change. */
  readonly ttlMs: number | null;
  /**
   * Milliseconds for which the server keeps the task after its end; `null`: forever. Only in SEP-1686, where a running task is never
   * deleted and `ttlMs` is `null`.
   */
  readonly keepAliveMs?: number | null;
  /** The poll interval that the server asks for, in milliseconds. Can change. */
  readonly pollIntervalMs?: number;
}

/** A task that has not ended, and asks nothing. */
export interface WorkingTask extends RemoteTaskBase {
  readonly status: "working";
}

/** A task that asks its caller something. */
export interface InputRequiredTask extends RemoteTaskBase {
  readonly status: "input_required";
  /** The open questions by key. The client answers them through `onInput` while it waits. */
  readonly inputRequests: Readonly<Record<string, OpenQuestion>>;
}

/** A task that has a result. */
export interface CompletedTask extends RemoteTaskBase {
  readonly status: "completed";
  /** The result of the call. Results with `isError` are completed too. */
  readonly result: CallToolResult;
}

/** A task whose call ended in a JSON-RPC error. */
export interface FailedTask extends RemoteTaskBase {
  readonly status: "failed";
  /** The JSON-RPC error of the call. */
  readonly error: JsonRpcError;
}

/** A task that was cancelled. */
export interface CancelledTask extends RemoteTaskBase {
  readonly status: "cancelled";
}

/** A task as the server last reported it, discriminated by `status`. */
export type RemoteTask = WorkingTask | InputRequiredTask | CompletedTask | FailedTask | CancelledTask;

export type EndedTask = CompletedTask | FailedTask | CancelledTask;

export function hasEnded(task: RemoteTask): task is EndedTask {
  return task.status === "completed" || task.status === "failed" || task.status === "cancelled";
}
