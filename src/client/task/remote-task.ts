import type { CallToolResult } from "@modelcontextprotocol/client";
import type { JsonRpcError } from "../../task/outcome.ts";

/** A question that a server put into a task or into an answer to a call, as it came. */
export interface OpenQuestion {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

interface RemoteTaskBase {
  readonly taskId: string;
  /** The tool whose call it is, where the server says so, as Holdfast's servers do in `_meta["holdfast/tool"]`. */
  readonly tool?: string;
  /** Free text about where the task stands, for people and models. */
  readonly statusMessage?: string;
  /** ISO 8601, by the server's clock. Tasks of SEP-1686 tell no times: when this client first heard of it, by its own. */
  readonly createdAt: string;
  /** The same for its last change; in SEP-1686, the last that this client heard of. */
  readonly lastUpdatedAt: string;
  /** Milliseconds from `createdAt` after which the server may drop the task; `null` for never. Can change. */
  readonly ttlMs: number | null;
  /**
   * Milliseconds from its end for which the server keeps the task; `null` for ever. In SEP-1686 alone, where a task that
   * runs is never dropped, and `ttlMs` is `null`.
   */
  readonly keepAliveMs?: number | null;
  /** Milliseconds that the server wants between polls. Can change. */
  readonly pollIntervalMs?: number;
}

export interface WorkingTask extends RemoteTaskBase {
  readonly status: "working";
}

export interface InputRequiredTask extends RemoteTaskBase {
  readonly status: "input_required";
  /** Every question that is open now, by key. The client answers them through `onInput` while it waits. */
  readonly inputRequests: Readonly<Record<string, OpenQuestion>>;
}

export interface CompletedTask extends RemoteTaskBase {
  readonly status: "completed";
  /** What the call would have answered; `isError` results are completed too. */
  readonly result: CallToolResult;
}

export interface FailedTask extends RemoteTaskBase {
  readonly status: "failed";
  /** The JSON-RPC error that the call would have answered. */
  readonly error: JsonRpcError;
}

export interface CancelledTask extends RemoteTaskBase {
  readonly status: "cancelled";
}

/** A task as the server last told it, told apart by `status`. */
export type RemoteTask = WorkingTask | InputRequiredTask | CompletedTask | FailedTask | CancelledTask;

export type EndedTask = CompletedTask | FailedTask | CancelledTask;

export function hasEnded(task: RemoteTask): task is EndedTask {
  return task.status === "completed" || task.status === "failed" || task.status === "cancelled";
}
