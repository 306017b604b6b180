import type { CallToolResult } from "@modelcontextprotocol/client";
import type { Counts, TaskSummary } from "../../admin/admin.ts";
import type { BulkAction, BulkJobShown, BulkResult } from "../../admin/task-operations.ts";
import type { JsonRpcError } from "../../task/outcome.ts";
import type { TaskClientErrorCode } from "../../client/task-client-error.ts";
import type { RemoteTask } from "../../client/task/remote-task.ts";

/** What `--json` prints for a task: `call`, `get`, `watch` (one for each line), `result`, `answer`, `cancel`. */
export interface TaskJson {
  /** `null` for a call that was answered at once. */
  readonly id: string | null;
  /** As it was given. */
  readonly server: string;
  readonly tool?: string;
  readonly status: "working" | "input_required" | "completed" | "failed" | "cancelled";
  readonly statusMessage?: string;
  /** ISO 8601, by the server's clock. */
  readonly createdAt?: string;
  readonly lastUpdatedAt?: string;
  readonly ttlMs?: number | null;
  readonly pollIntervalMs?: number;
  /** With the status `input_required`. */
  readonly questions?: readonly QuestionJson[];
  /** With the status `completed`: as the server sent it. */
  readonly result?: CallToolResult;
  /** With `--save`: the files with the result's content other than text. */
  readonly saved?: readonly string[];
  /** With the status `failed`. */
  readonly error?: JsonRpcError;
}

export interface QuestionJson {
  readonly key: string;
  /** Such as `elicitation/create`. */
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

export interface ListedTaskJson {
  readonly id: string;
  /** False for an unanswered call: it is unknown whether there is a task, and the id is that of the call. */
  readonly isTask: boolean;
  readonly server: string;
  readonly tool: string;
  /** ISO 8601, by this machine's clock. */
  readonly startedAt: string;
  /**
   * With `--refresh`: as in a task, or `expired` if its time is over, `lost` if the server does not know it with these credentials,
   * `unreachable` if the server could not be reached, `unauthorized` if it wants a token, or another one.
   */
  readonly status?: TaskJson["status"] | "expired" | "lost" | "unreachable" | "unauthorized";
  readonly statusMessage?: string;
  /** With `--all`: its outcome, `status`, was printed. */
  readonly isOver?: true;
}

/**
 * What `admin … cancel|retry|delete|extend --all --json` prints. Its other documents are the types `TaskPage`, `TaskDetails`, `TaskSummary`
 * and `Counts` of `holdfast`.
 */
export interface ManyTasksJson extends BulkResult, Pick<BulkJobShown, "counts"> {
  readonly action: BulkAction;
  /** Whether it was a dry run. */
  readonly dryRun: boolean;
  /** Why it is not known how it went on. */
  readonly error?: string;
}

/** What `admin … top --json` prints. */
export interface TopJson {
  readonly counts: Counts;
  /** The newest that have not ended. */
  readonly tasks: readonly TaskSummary[];
}

/** What `docs --json` prints without a topic. */
export interface TopicsJson {
  readonly topics: readonly { readonly topic: string; readonly part: string; readonly title: string }[];
}

/** What `docs TOPIC --json` prints. */
export interface DocsJson {
  readonly topic: string;
  /** Markdown: the page, or the sections that were asked for. */
  readonly text: string;
}

/** What `--json` prints when a command fails. */
export interface ErrorJson {
  readonly error: {
    readonly kind: TaskClientErrorCode | "usage" | "stopped" | "system" | "fault";
    readonly message: string;
    /** The task in question, if there is one. */
    readonly id?: string;
    /** The server's JSON-RPC error, if it sent one. */
    readonly rpc?: JsonRpcError;
  };
  readonly exitCode: number;
}

/** Which server a task is on. */
export interface TaskOrigin {
  readonly server: string;
  readonly tool?: string | undefined;
}

export function taskJson(task: RemoteTask, { server, tool = task.tool }: TaskOrigin): TaskJson {
  const { taskId, status, statusMessage, createdAt, lastUpdatedAt, ttlMs, pollIntervalMs } = task;
  return {
    id: taskId,
    server,
    ...(tool !== undefined && { tool }),
    status,
    ...(statusMessage !== undefined && { statusMessage }),
    createdAt,
    lastUpdatedAt,
    ttlMs,
    ...(pollIntervalMs !== undefined && { pollIntervalMs }),
    ...ofStatus(task),
  };
}

/** A call that was answered directly. */
export function directJson(result: CallToolResult, { server, tool }: TaskOrigin): TaskJson {
  return { id: null, server, ...(tool !== undefined && { tool }), status: "completed", result };
}

function ofStatus(task: RemoteTask): Pick<TaskJson, "questions" | "result" | "error"> {
  switch (task.status) {
    case "working":
    case "cancelled":
      return {};
    case "input_required":
      return {
        questions: Object.entries(task.inputRequests).map(([key, { method, params }]) => ({
          key,
          method,
          params,
        })),
      };
    case "completed":
      return { result: task.result };
    case "failed":
      return { error: task.error };
  }
}
