import * as z from "zod/mini";
import {
  activity,
  drainOptions,
  nodeSummary,
  type Activity,
  type DrainOptions,
  type NodeSummary,
} from "./activity.ts";
import {
  adminAction,
  counts,
  retryOptions,
  taskChanges,
  taskDetails,
  taskPage,
  taskQuery,
  taskSelection,
  taskSummary,
  type AdminAction,
  type Counts,
  type RetryOptions,
  type TaskChanges,
  type TaskDetails,
  type TaskPage,
  type TaskQuery,
  type TaskSelection,
  type TaskSummary,
} from "./admin.ts";
import { filePart, fileQuery, type FilePart, type FileQuery } from "./artifact-shapes.ts";
import {
  bulkAction,
  bulkJob,
  bulkOptions,
  bulkResult,
  type BulkAction,
  type BulkJobShown,
  type BulkOptions,
  type BulkResult,
} from "./bulk-job.ts";
import { DeclaredFailureActs, DeclaredFailureReads } from "./incident-operations.ts";
import { operation, operationsOf } from "./operation.ts";
import { roleForEnd, roleForExtend } from "./roles.ts";
import { timelinePage, timelineQuery, type TimelinePage, type TimelineQuery } from "./timeline-shapes.ts";
import {
  resendOptions,
  resent,
  webhookBacklog,
  type ResendOptions,
  type Resent,
  type WebhookBacklog,
} from "./webhook-shapes.ts";
import { countUpTo, described, list, nonEmpty, number, text, whole } from "./shape.ts";

class DeclaredReads extends DeclaredFailureReads {
  /** Tasks, newest first. Rejects with `invalid_params` for an invalid query. */
  readonly list = operation<(query?: TaskQuery) => Promise<TaskPage>>({
    method: "GET",
    path: "/tasks",
    id: "listTasks",
    summary: "List tasks, newest first",
    role: "view",
    roleFor: ({ text: searched }) => (searched === undefined ? undefined : "read"), // what is found tells what it contains
    options: taskQuery,
    spelled: { states: "state" },
    nulls: {
      principal: {
        name: "nobody",
        description: "If true, tasks of unidentified callers. Cannot be combined with principal.",
      },
    },
    gives: taskPage,
    shows: "caller",
  });

  /** Rejects with `unknown_task`, and with `task_unreadable` for a damaged task. */
  readonly show = operation<(id: string) => Promise<TaskDetails>>({
    method: "GET",
    path: "/tasks/{id}",
    id: "showTask",
    summary: "Show one task: its attempts, steps, questions, outcome, log and output",
    role: "view",
    takes: { id: text },
    gives: taskDetails,
    shows: "task",
    faults: ["unknown_task", "task_unreadable"],
  });

  /** The timeline of a task, page by page. Rejects with `unknown_task`. */
  readonly timeline = operation<(id: string, query?: TimelineQuery) => Promise<TimelinePage>>({
    method: "GET",
    path: "/tasks/{id}/timeline",
    id: "listTimeline",
    summary: "List the steps, questions, waits and calls of a task, in the order in which they began",
    role: "view",
    takes: { id: text },
    options: timelineQuery,
    gives: timelinePage,
    shows: "task",
    faults: ["unknown_task"],
  });

  /** A part of a file that a task has made. Rejects with `unknown_task`, and with `invalid_params` if the task has no such file. */
  readonly artifact = operation<(id: string, name: string, query?: FileQuery) => Promise<FilePart>>({
    method: "GET",
    path: "/tasks/{id}/artifacts/{name}",
    id: "readArtifact",
    summary: "Read a part of a file that a task has made",
    role: "read",
    takes: { id: text, name: nonEmpty },
    options: fileQuery,
    gives: filePart,
    shows: "task",
    faults: ["unknown_task", "task_unreadable"],
  });

  readonly counts = operation<() => Promise<Counts>>({
    method: "GET",
    path: "/counts",
    id: "countTasks",
    summary: "Count the tasks of each tool, and show which tools are paused",
    role: "view",
    gives: counts,
  });

  /** Messages not accepted yet, for each webhook that has some. */
  readonly webhooks = operation<() => Promise<readonly WebhookBacklog[]>>({
    method: "GET",
    path: "/webhooks",
    id: "listWebhooks",
    summary: "Count the undelivered messages of each webhook that has any",
    role: "view",
    gives: list(webhookBacklog),
  });

  /**
   * Activity of the last `minutes` (1 to 360, default 60), as counted by the servers' processes. Each reports to the store every ten
   * seconds.
   */
  readonly activity = operation<(options?: { readonly minutes?: number }) => Promise<Activity>>({
    method: "GET",
    path: "/activity",
    id: "showActivity",
    summary: "Count the tasks of each tool and the refused requests of the last minutes",
    role: "view",
    options: {
      minutes: z.optional(countUpTo(360, 60, "The number of minutes, including the current one.")),
    },
    gives: activity,
  });

  /** The processes that have the store open, oldest first, followed by those that are gone for at most ten minutes. */
  readonly nodes = operation<() => Promise<readonly NodeSummary[]>>({
    method: "GET",
    path: "/nodes",
    id: "listNodes",
    summary: "List the processes that have the store open, with the last report of each",
    role: "view",
    gives: list(nodeSummary),
  });

  /** A bulk action, how far it is, and how it ended for the first 1,000 tasks of each list. Rejects with `unknown_task`. */
  readonly bulkJob = operation<(id: string) => Promise<BulkJobShown>>({
    method: "GET",
    path: "/bulk/{id}",
    id: "showBulkJob",
    summary: "Show how far a bulk action is",
    role: "read",
    takes: { id: text },
    gives: bulkJob,
    faults: ["unknown_task"],
  });

  /** Operators' actions, newest first, with numbers below `before`; at most `limit` (default 100). With `principal`: those with its data. */
  readonly actions = operation<
    (options?: {
      readonly taskId?: string;
      readonly principal?: string;
      readonly before?: number;
      readonly limit?: number;
    }) => Promise<readonly AdminAction[]>
  >({
    method: "GET",
    path: "/actions",
    id: "listActions",
    summary: "List operators' actions, newest first",
    role: "view",
    roleFor: ({ principal }) => (principal === undefined ? undefined : "admin"),
    options: {
      taskId: z.optional(described(text, "Actions on this task.")),
      principal: z.optional(described(text, "Reads, exports and erasures of this caller's data.")),
      before: z.optional(described(whole.check(z.gte(0)), "Actions with a smaller seq.")),
      limit: z.optional(countUpTo(1_000, 100, "The maximum number of actions.")),
    },
    gives: list(adminAction),
  });

  /**
   * Yields at once that any task may have changed, and from then on which tasks did, including their logs and outputs, at most four times a
   * second. Ends with `signal`, and rejects if the store is closed or does not answer.
   */
  readonly changes = operation<(options?: { readonly signal?: AbortSignal }) => AsyncIterable<TaskChanges>>({
    method: "GET",
    path: "/changes",
    id: "followTasks",
    summary: "Stream the ids of tasks as they change. The first event says that any task may have changed",
    role: "view",
    gives: taskChanges,
    isStream: true,
  });
}

/** What operators can read from a store. All methods reject with `store_failed` if it does not answer. */
export interface AdminReads extends DeclaredReads {}

export const reads = operationsOf<AdminReads>(DeclaredReads);

class DeclaredActs extends DeclaredFailureActs {
  /** Cancels a task. A running handler is notified; a parked one does not run again to clean up. Rejects with `finished`. */
  readonly cancel = operation<(id: string) => Promise<TaskSummary>>({
    method: "POST",
    path: "/tasks/{id}/cancel",
    id: "cancelTask",
    summary: "Cancel a task",
    role: "act",
    takes: { id: text },
    gives: taskSummary,
    faults: ["unknown_task", "finished"],
  });

  /**
   * Answers open questions, by their keys, with the result objects that a client would send. Rejects with `invalid_params` for an invalid
   * answer, and with `finished` if no such question is open.
   */
  readonly answer = operation<
    (id: string, answers: Readonly<Record<string, unknown>>) => Promise<TaskSummary>
  >({
    method: "POST",
    path: "/tasks/{id}/answer",
    id: "answerTask",
    summary: "Answer open questions by their keys, with the result objects that a client would send",
    role: "act",
    takes: { id: text, answers: z.record(text, z.unknown()) },
    gives: taskSummary,
    faults: ["unknown_task", "finished"],
  });

  /**
   * Runs a finished task again as a new task, which goes on from what succeeded. The two name each other (`retryOf`, `retriedAs`). Rejects
   * with `unfinished`; with `finished` if the task was run again before, unless options say what to repeat; and with `invalid_params` if the
   * journal has no entry of that name.
   */
  readonly retry = operation<(id: string, options?: RetryOptions) => Promise<TaskSummary>>({
    method: "POST",
    path: "/tasks/{id}/retry",
    id: "retryTask",
    summary: "Run a finished task again as a new task, which goes on from what succeeded",
    role: "act",
    takes: { id: text },
    options: retryOptions,
    gives: taskSummary,
    faults: ["unknown_task", "unfinished", "finished"],
  });

  /** Sets how long an unfinished task may run, or a finished one is kept (epoch ms); `null`: no limit. */
  readonly extend = operation<(id: string, until: number | null) => Promise<TaskSummary>>({
    method: "POST",
    path: "/tasks/{id}/extend",
    id: "extendTask",
    summary: "Set how long an unfinished task may run, or a finished one is kept",
    role: "act",
    roleFor: ({ until }, now) => roleForEnd(until, now),
    takes: { id: text, until: described(z.nullable(number), "Epoch milliseconds; null: no limit.") },
    gives: taskSummary,
    faults: ["unknown_task"],
  });

  /**
   * Tries a blocked task again now, in any process that has its tool; it stays blocked if the code still does not fit. Rejects with
   * `finished` if it is not blocked, or is being tried.
   */
  readonly unblock = operation<(id: string) => Promise<TaskSummary>>({
    method: "POST",
    path: "/tasks/{id}/unblock",
    id: "unblockTask",
    summary: "Try a blocked task again now",
    role: "act",
    takes: { id: text },
    gives: taskSummary,
    faults: ["unknown_task", "finished"],
  });

  /** Deletes a finished task and all its stored data. Rejects with `unfinished`. */
  readonly delete = operation<(id: string) => Promise<void>>({
    method: "DELETE",
    path: "/tasks/{id}",
    id: "deleteTask",
    summary: "Delete a finished task and everything stored about it",
    role: "admin",
    takes: { id: text },
    faults: ["unknown_task", "unfinished"],
  });

  /** Stops starting tasks of the tool in any process, within about a second. Running ones continue. */
  readonly pause = operation<(tool: string) => Promise<void>>({
    method: "POST",
    path: "/tools/{tool}/pause",
    id: "pauseTool",
    summary: "Stop starting a tool's tasks",
    role: "act",
    takes: { tool: nonEmpty },
  });

  readonly resume = operation<(tool: string) => Promise<void>>({
    method: "POST",
    path: "/tools/{tool}/resume",
    id: "resumeTool",
    summary: "Start a paused tool's tasks again",
    role: "act",
    takes: { tool: nonEmpty },
  });

  /**
   * A process takes nothing new: others claim what is queued for it, tasks go back to the queue when their handlers wait or reach their next
   * journalled call, and the rest after `withinMs`. It learns of this within a second; from then on `nodes` shows what it still has, and it can
   * be stopped when that is nothing. With `undo` it takes work again. Rejects with `invalid_params` if no living process has that id.
   */
  readonly drain = operation<(node: string, options?: DrainOptions) => Promise<NodeSummary>>({
    method: "POST",
    path: "/nodes/{node}/drain",
    id: "drainNode",
    summary: "Let a process take nothing new, and finish or hand over what it has",
    role: "admin",
    takes: { node: nonEmpty },
    options: drainOptions,
    gives: nodeSummary,
  });

  /**
   * Sends the webhook's given-up messages again, within a minute, and as `options` say those that wait and those that were delivered. What was
   * delivered is not stored: the webhook is told how tasks stand now. Rejects with `invalid_params` for a range without `changedFrom`.
   */
  readonly resend = operation<(webhook: string, options?: ResendOptions) => Promise<Resent>>({
    method: "POST",
    path: "/webhooks/{webhook}/resend",
    id: "resendWebhook",
    summary: "Resend a webhook's messages that could not be delivered, and others on request",
    role: "act",
    takes: { webhook: nonEmpty },
    options: resendOptions,
    gives: resent,
  });

  /**
   * Applies an action to all selected tasks, newest first, each once: what matches later is left alone. The same action and selection while
   * a job is not done is that job. Resolves when it is done, or after ten seconds with what was done by then: it goes on, in another process
   * if this one ends. Rejects if the store fails; the job goes on when it answers. `options.dryRun` only selects the tasks, and
   * `options.job` acts on those of such a job.
   */
  readonly bulk = operation<
    (action: BulkAction, selection: TaskSelection, options?: BulkOptions) => Promise<BulkResult>
  >({
    method: "POST",
    path: "/bulk",
    id: "changeTasks",
    summary: "Apply an action to all selected tasks, newest first. A dry run only selects them",
    role: "act",
    roleFor: ({ action, options }, now) =>
      action === "delete" ? "admin" : action === "extend" ? roleForExtend(options, now) : undefined,
    takes: { action: bulkAction, selection: taskSelection, options: z.optional(bulkOptions) },
    gives: bulkResult,
    faults: ["unknown_task"],
  });

  /** Ends a bulk job: what is done stays done, and the rest of its tasks is left alone. Rejects with `finished`. */
  readonly cancelBulk = operation<(id: string) => Promise<BulkJobShown>>({
    method: "POST",
    path: "/bulk/{id}/cancel",
    id: "cancelBulkJob",
    summary: "Stop a bulk action. What is done stays done",
    role: "act",
    takes: { id: text },
    gives: bulkJob,
    faults: ["unknown_task", "finished"],
  });
}

/**
 * Actions of one operator. Each is recorded with the operator's name, in the same write as the change. All reject with `unknown_task` if
 * the task does not exist.
 */
export interface AdminActs extends DeclaredActs {}

export const acts = operationsOf<AdminActs>(DeclaredActs);

/** For operators: reads and changes what is in the store. */
export interface Admin extends AdminReads {
  /** Actions under the name of an operator. Throws `invalid_params` for an empty name. */
  as(actor: string): AdminActs;
}
