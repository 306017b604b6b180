import type { CallToolResult } from "@modelcontextprotocol/client";
import type { JsonRpcError } from "../../task/outcome.ts";

/**
 * Everything needed to find a task again: plain data, safe to write to a file as JSON. Without authentication the task id is the only key
 * to the task, so keep it like a password.
 */
export interface TaskReference {
  /** The server that holds the task: its URL without the values of its query, or another name from `connect`; see `serverName`. */
  readonly server: string;
  /** The form of the Tasks protocol that created the task. Others cannot see it. */
  readonly generation: string;
  readonly taskId: string;
}

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

/** A task in a server's list, with what its protocol includes there. */
export interface TaskSummary {
  readonly taskId: string;
  /** The tool that the task runs, if the server says so, as Holdfast servers do in `_meta["holdfast/tool"]`. */
  readonly tool?: string;
  /** As in `TaskHandle.get`. */
  readonly status: RemoteTask["status"];
  /** Free text about the task's progress, for people and models; for a failed task of SEP-1686, why it failed. */
  readonly statusMessage?: string;
  /** ISO 8601, by the server's clock; left out in SEP-1686, which has no times. */
  readonly createdAt?: string;
  /** The time of its last change, in the same form. */
  readonly lastUpdatedAt?: string;
  /** Milliseconds from `createdAt` after which the server may delete the task; `null`: never. */
  readonly ttlMs: number | null;
  /** Milliseconds for which the server keeps the task after its end; `null`: forever. Only in SEP-1686. */
  readonly keepAliveMs?: number | null;
  /** The poll interval that the server asks for, in milliseconds. */
  readonly pollIntervalMs?: number;
}

/** A task in a list, without its result and its questions. To get those, use `client.resume(task.reference)`. */
export interface ListedTask extends TaskSummary {
  readonly reference: TaskReference;
}

/** One page of a server's list. */
export interface TaskPage<Task> {
  /** In the server's order. */
  readonly tasks: readonly Task[];
  /** The cursor of the next page; left out on the last page. Opaque to clients. */
  readonly nextCursor?: string;
}
