import type { DeliveryEvent } from "../task/delivery.ts";
import type { Activity, NodeSummary } from "./activity.ts";
import type { InputMethod, JournalKind } from "../task/journal.ts";
import type { OutcomeKind } from "../task/outcome.ts";
import type { GenerationName, Progress, Retrieval, TaskMethod } from "../task/record.ts";
import type { TaskAttempt } from "../task/attempts.ts";

/**
 * The state of a task as operators see it. `queued`: it can be claimed. `waiting`: it sleeps, waits for an event or another task, or pauses
 * before its next try. `failed`: it ended with an error, or with a result that reports a tool error.
 */
export type AdminTaskState =
  "queued" | "waiting" | "running" | "input_required" | "completed" | "failed" | "cancelled";

/** Selects the tasks that match every given property. */
export interface TaskSelection {
  /** Left out: all states. */
  readonly states?: readonly AdminTaskState[];
  readonly tool?: string;
  /** `null`: tasks of unidentified callers. */
  readonly principal?: string | null;
  /** The process that runs it, will run it, or ran it last. */
  readonly owner?: string;
  /** Created at this time (epoch ms) or later, and before `createdBefore`. */
  readonly createdFrom?: number;
  readonly createdBefore?: number;
  /** Text that the status text contains, ignoring case. */
  readonly text?: string;
  /** Whether it was run again as another task. Left out: both in a list; in a bulk action, only tasks that were not. */
  readonly retried?: boolean;
}

export interface TaskQuery extends TaskSelection {
  /** Maximum number of tasks, from 1 to 1,000. Default 50. */
  readonly limit?: number;
  /** The `next` of the previous page. */
  readonly after?: string;
}

/** A task in a list. Times are epoch milliseconds. */
export interface TaskSummary {
  readonly id: string;
  readonly tool: string;
  readonly state: AdminTaskState;
  readonly principal: string | null;
  readonly generation: GenerationName;
  readonly method: TaskMethod;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly updatedAt: number;
  readonly finishedAt: number | null;
  /** When an unfinished task must end, or a finished one is deleted; null: never. */
  readonly expiresAt: number | null;
  /** When a waiting task continues by itself; null if it does not. */
  readonly wakesAt: number | null;
  readonly attempt: number;
  readonly statusMessage: string | null;
  readonly progress: Progress | null;
  /** What went wrong, shortened. Only for a failed task. */
  readonly error: string | null;
  /** The process that runs it, or will run it. */
  readonly owner: string | null;
  /** The task whose handler called this one. */
  readonly parent: string | null;
  /** The task as which it was last run again. */
  readonly retriedAs: string | null;
}

export interface TaskPage {
  /** Newest first. */
  readonly tasks: readonly TaskSummary[];
  /** Where the next page begins; null on the last page. A page may be shorter than its limit, or even empty, before the last. */
  readonly next: string | null;
}

/** A step, a question, a sleep, a call of another tool or a wait for an event. In a timeline, in the order in which they began. */
export interface TimelineEntry {
  readonly key: string;
  readonly kind: JournalKind;
  /** The method of a question's request. */
  readonly method: InputMethod | null;
  readonly begunAt: number | null;
  readonly doneAt: number | null;
  readonly durationMs: number | null;
  /** Steps only: how often it failed with a retry to follow. */
  readonly tries: number;
  /** When an open wait ends at the latest, or when a step is retried. */
  readonly until: number | null;
  /** The error with which it failed. */
  readonly error: string | null;
  /** The task of an unfinished call. It is deleted when it ends. */
  readonly childId: string | null;
}

/** A message about a task that a webhook has not accepted yet. */
export interface TaskDelivery {
  readonly webhook: string;
  readonly event: DeliveryEvent;
  /** When the change happened (epoch ms). */
  readonly at: number;
  readonly tries: number;
  /** When the next try is (epoch ms); null: the message was given up. */
  readonly nextAt: number | null;
  /** Why it last failed. */
  readonly problem: string | null;
}

export interface OpenQuestion {
  readonly key: string;
  readonly method: InputMethod;
  readonly params: unknown;
}

/** A line of a log, or a part of an output, as in `task://ID/log`. */
export type ShownLine = Readonly<Record<string, unknown>>;

export interface AdminAction {
  readonly seq: number;
  readonly at: number;
  readonly actor: string;
  readonly action: string;
  readonly taskId: string | null;
  readonly tool: string | null;
  readonly detail: unknown;
}

/** All details of one task. */
export interface TaskDetails extends TaskSummary {
  /** The client's name for the task. */
  readonly wireId: string;
  readonly arguments: unknown;
  /** The task that this one retries. */
  readonly retryOf: string | null;
  readonly toolVersion: number | null;
  /** How often its handler threw and had to run again, and how often its process was lost since its last write. */
  readonly failures: number;
  readonly crashes: number;
  readonly cancelRequestedAt: number | null;
  /** When its result first went to its principal, and by which method or polling tool; null if it did not. */
  readonly retrieved: Retrieval | null;
  readonly requiredScopes: readonly string[];
  /** The trace id (W3C Trace Context) of the request that created it. */
  readonly traceId: string | null;
  /** The first attempt and the last ones. */
  readonly attempts: readonly TaskAttempt[];
  readonly timeline: readonly TimelineEntry[];
  /** True if the timeline shown is not complete. */
  readonly timelineIsCut: boolean;
  readonly questions: readonly OpenQuestion[];
  /** Unfinished tasks that its handler called, in the order of the calls: the newest 100. */
  readonly children: readonly TaskSummary[];
  readonly outcome: { readonly kind: OutcomeKind; readonly body: unknown } | null;
  /** The last lines. */
  readonly log: readonly ShownLine[];
  readonly output: readonly ShownLine[];
  /** Messages about it that webhooks have not accepted yet, among the newest 10,000 waiting messages of all webhooks. */
  readonly deliveries: readonly TaskDelivery[];
  /** Operators' actions on it, newest first. */
  readonly actions: readonly AdminAction[];
}

/** How many tasks a tool has. Every number is at most `most`, which also limits how many unfinished tasks are examined. */
export interface ToolCounts {
  readonly tool: string;
  readonly queued: number;
  readonly waiting: number;
  readonly running: number;
  readonly inputRequired: number;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  /** When it was paused, and by whom; null if it is not paused. */
  readonly paused: { readonly since: number; readonly actor: string } | null;
}

export interface Counts {
  readonly most: number;
  readonly tools: readonly ToolCounts[];
}

/** Tasks of a tool that failed with the same message, apart from numbers in it. */
export interface FailureGroup {
  readonly message: string;
  readonly count: number;
  /** The newest of these tasks. */
  readonly taskId: string;
  readonly firstAt: number;
  readonly lastAt: number;
}

/** Messages that a webhook has not accepted yet. Every number is at most 10,000. */
export interface WebhookBacklog {
  readonly webhook: string;
  readonly waiting: number;
  /** Messages given up after three days. They are kept until they are a week old. */
  readonly givenUp: number;
  /** The newest failure of these messages; null if none has failed. */
  readonly lastFailure: { readonly at: number; readonly problem: string } | null;
}

/** The ids of tasks that have changed in any way; null: any task may have. */
export interface TaskChanges {
  readonly tasks: readonly string[] | null;
}

/**
 * How a task runs again. Left out: everything in its journal that succeeded is kept, and the rest runs again, with the same idempotency
 * keys.
 */
export interface RetryOptions {
  /** New arguments instead of those of the old task. Its results are then not kept, unless `keepUpTo` names the last one to keep. */
  readonly arguments?: unknown;
  /** Keeps only what succeeded up to the end of the step, question or other entry with this name. */
  readonly keepUpTo?: string;
  /** Repeats everything as a new task, with new idempotency keys: a payment that went through is made again. Default false. */
  readonly fromStart?: boolean;
}

/** An action on many tasks. */
export type BulkAction = "cancel" | "retry" | "delete" | "extend";

export interface BulkOptions {
  /** Only reports which tasks match. Default false. */
  readonly dryRun?: boolean;
  /** Maximum number of tasks, from 1 to 10,000. Default 1,000. */
  readonly limit?: number;
  /** For `extend`. */
  readonly until?: number | null;
  /** The `next` of a call that reached its limit. */
  readonly after?: string;
}

export interface BulkResult {
  /** The changed tasks; with `dryRun`, those that would be changed. For `retry`, the old tasks. */
  readonly done: readonly string[];
  /** For `retry`: the new tasks, in the order of `done`. */
  readonly created: readonly string[];
  readonly refused: readonly { readonly id: string; readonly code: string; readonly message: string }[];
  readonly next: string | null;
}

/** What operators can read from a store. All methods reject with `store_failed` if it does not answer. */
export interface AdminReads {
  /** Tasks, newest first. Rejects with `invalid_params` for an invalid query. */
  list(query?: TaskQuery): Promise<TaskPage>;
  /** Rejects with `unknown_task`, and with `task_unreadable` for a damaged task. */
  show(id: string): Promise<TaskDetails>;
  counts(): Promise<Counts>;
  /** Why tasks of a tool failed, from the newest `limit` (default 1,000) of them, most frequent first. */
  failures(tool: string, limit?: number): Promise<readonly FailureGroup[]>;
  /** Messages not accepted yet, for each webhook that has some. */
  webhooks(): Promise<readonly WebhookBacklog[]>;
  /**
   * Activity of the last `minutes` (1 to 360, default 60), as counted by the servers' processes. Each reports to the store every ten
   * seconds.
   */
  activity(options?: { readonly minutes?: number }): Promise<Activity>;
  /** The processes that have the store open, oldest first, followed by those that are gone for at most ten minutes. */
  nodes(): Promise<readonly NodeSummary[]>;
  /** Operators' actions, newest first, with numbers below `before`; at most `limit` (default 100). */
  actions(options?: {
    readonly taskId?: string;
    readonly before?: number;
    readonly limit?: number;
  }): Promise<readonly AdminAction[]>;
  /**
   * Yields at once that any task may have changed, and from then on which tasks did, including their logs and outputs, at most four times a
   * second. Ends with `signal`, and rejects if the store is closed or does not answer.
   */
  changes(options?: { readonly signal?: AbortSignal }): AsyncIterable<TaskChanges>;
}

/**
 * Actions of one operator. Each is recorded with the operator's name, in the same write as the change. All reject with `unknown_task` if
 * the task does not exist.
 */
export interface AdminActs {
  /** Cancels a task. A running handler is notified; a parked one does not run again to clean up. Rejects with `finished`. */
  cancel(id: string): Promise<TaskSummary>;
  /**
   * Answers open questions, by their keys, with the result objects that a client would send. Rejects with `invalid_params` for an invalid
   * answer, and with `finished` if no such question is open.
   */
  answer(id: string, answers: Readonly<Record<string, unknown>>): Promise<TaskSummary>;
  /**
   * Runs a finished task again as a new task, which goes on from what succeeded. The two name each other (`retryOf`, `retriedAs`). Rejects
   * with `unfinished`; with `finished` if the task was run again before, unless options say what to repeat; and with `invalid_params` if the
   * journal has no entry of that name.
   */
  retry(id: string, options?: RetryOptions): Promise<TaskSummary>;
  /** Sets how long an unfinished task may run, or a finished one is kept (epoch ms); `null`: no limit. */
  extend(id: string, until: number | null): Promise<TaskSummary>;
  /** Deletes a finished task and all its stored data. Rejects with `unfinished`. */
  delete(id: string): Promise<void>;
  /** Stops starting tasks of the tool in any process, within about a second. Running ones continue. */
  pause(tool: string): Promise<void>;
  resume(tool: string): Promise<void>;
  /** Sends the webhook's given-up messages again, within a minute. */
  resend(webhook: string): Promise<{ readonly resent: number }>;
  /** Applies an action to all selected tasks, newest first. Rejects if the store fails; `actions` then lists what was done. */
  bulk(action: BulkAction, selection: TaskSelection, options?: BulkOptions): Promise<BulkResult>;
}

/** For operators: reads and changes what is in the store. */
export interface Admin extends AdminReads {
  /** Actions under the name of an operator. Throws `invalid_params` for an empty name. */
  as(actor: string): AdminActs;
}
