import type { DeliveryEvent } from "../task/delivery.ts";
import type { Activity, NodeSummary } from "./activity.ts";
import type { InputMethod } from "../task/input.ts";
import type { JournalKind } from "../task/journal.ts";
import type { OutcomeKind } from "../task/outcome.ts";
import type { GenerationName } from "../task/generations.ts";
import type { Progress, TaskMethod } from "../task/record.ts";
import type { TaskAttempt } from "../task/attempts.ts";

/**
 * How a task stands, as operators see it. `queued`: it can be claimed. `waiting`: it sleeps, waits for an event or another task, or pauses before its next try.
 * `failed`: it ended with an error, or with a result that says that the tool failed.
 */
export type TaskStanding =
  "queued" | "waiting" | "running" | "input_required" | "completed" | "failed" | "cancelled";

/** Which tasks are meant: those to which all that is given applies. */
export interface TaskSelection {
  /** Left out: however they stand. */
  readonly states?: readonly TaskStanding[];
  readonly tool?: string;
  /** `null`: tasks of callers that are not told apart. */
  readonly principal?: string | null;
  /** The process that runs it or is to run it, or that had it last. */
  readonly owner?: string;
  /** Created at this time (epoch ms) or later, and before that one. */
  readonly createdFrom?: number;
  readonly createdBefore?: number;
  /** What the status text has in it, in upper or lower case. */
  readonly text?: string;
}

export interface TaskQuery extends TaskSelection {
  /** How many tasks at most, from 1 to 1,000. Default 50. */
  readonly limit?: number;
  /** The `next` of the page before. */
  readonly after?: string;
}

/** A task in a list. Times are epoch milliseconds. */
export interface TaskSummary {
  readonly id: string;
  readonly tool: string;
  readonly state: TaskStanding;
  readonly principal: string | null;
  readonly generation: GenerationName;
  readonly method: TaskMethod;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly updatedAt: number;
  readonly finishedAt: number | null;
  /** When an unfinished task ends at the latest, and a finished one is deleted; null: never. */
  readonly expiresAt: number | null;
  /** When a waiting task goes on by itself; null where it does not. */
  readonly wakesAt: number | null;
  readonly attempt: number;
  readonly statusMessage: string | null;
  readonly progress: Progress | null;
  /** Of a failed task: what went wrong, cut. */
  readonly error: string | null;
  /** The process that runs it, or is to run it. */
  readonly owner: string | null;
  /** The task whose handler called this one. */
  readonly parent: string | null;
}

export interface TaskPage {
  /** Newest first. */
  readonly tasks: readonly TaskSummary[];
  /** Where the next page begins; null: this was the last. A page may be shorter than its limit, and even empty, before the last. */
  readonly next: string | null;
}

/** A step, a question, a sleep, a call of another tool or a wait for an event, in the order in which they began. */
export interface TimelineEntry {
  readonly key: string;
  readonly kind: JournalKind;
  /** What a question asks with. */
  readonly method: InputMethod | null;
  readonly begunAt: number | null;
  readonly doneAt: number | null;
  readonly durationMs: number | null;
  /** Steps only: how often it failed and was to be tried again. */
  readonly tries: number;
  /** When a wait that goes on ends at the latest, and a step is tried again. */
  readonly until: number | null;
  /** What it failed with. */
  readonly error: string | null;
  /** Of a call: the task that it made, while that is unfinished; it is deleted as it ends. */
  readonly childId: string | null;
}

/** A message about a task that a webhook has not got. */
export interface TaskDelivery {
  readonly webhook: string;
  readonly event: DeliveryEvent;
  /** When that happened (epoch ms). */
  readonly at: number;
  readonly tries: number;
  /** When it is tried next (epoch ms); null: it was given up. */
  readonly nextAt: number | null;
  /** How it last failed. */
  readonly problem: string | null;
}

export interface OpenQuestion {
  readonly key: string;
  readonly method: InputMethod;
  readonly params: unknown;
}

/** A line of a log, or a part of an output, as `task://ID/log` shows it. */
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

/** One task whole. */
export interface TaskDetails extends TaskSummary {
  /** What the requestor calls it. */
  readonly wireId: string;
  readonly arguments: unknown;
  /** The task that this one runs again. */
  readonly retryOf: string | null;
  readonly toolVersion: number | null;
  /** How often its handler threw and was to run again, and how often its process was lost since it last wrote. */
  readonly failures: number;
  readonly crashes: number;
  readonly cancelRequestedAt: number | null;
  readonly requiredScopes: readonly string[];
  /** The trace of the request that made it, by its id in W3C Trace Context. */
  readonly traceId: string | null;
  /** The first and the last ones. */
  readonly attempts: readonly TaskAttempt[];
  readonly timeline: readonly TimelineEntry[];
  /** True where the timeline is longer than what is shown of it. */
  readonly timelineIsCut: boolean;
  readonly questions: readonly OpenQuestion[];
  /** The unfinished tasks that its handler called, in the order of the calls: the newest 100. */
  readonly children: readonly TaskSummary[];
  readonly outcome: { readonly kind: OutcomeKind; readonly body: unknown } | null;
  /** The last lines. */
  readonly log: readonly ShownLine[];
  readonly output: readonly ShownLine[];
  /** What webhooks have not been told of it yet, of the newest 10,000 messages that wait for any. */
  readonly deliveries: readonly TaskDelivery[];
  /** What operators did to it, newest first. */
  readonly actions: readonly AdminAction[];
}

/** How many tasks a tool has. No number goes beyond `most`, and no more unfinished tasks than that are looked through. */
export interface ToolCounts {
  readonly tool: string;
  readonly queued: number;
  readonly waiting: number;
  readonly running: number;
  readonly inputRequired: number;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  /** Who paused it, and when; null: it is not. */
  readonly paused: { readonly since: number; readonly actor: string } | null;
}

export interface Counts {
  readonly most: number;
  readonly tools: readonly ToolCounts[];
}

/** Tasks of a tool that failed with the same message, numbers in it left aside. */
export interface FailureGroup {
  readonly message: string;
  readonly count: number;
  /** The newest of them. */
  readonly taskId: string;
  readonly firstAt: number;
  readonly lastAt: number;
}

/** What a webhook has not been told yet. No number goes beyond 10,000. */
export interface WebhookBacklog {
  readonly webhook: string;
  readonly waiting: number;
  /** Messages that were tried for three days, which are kept until they are a week old. */
  readonly givenUp: number;
  /** The newest failure of these messages; null where none has failed. */
  readonly lastFailure: { readonly at: number; readonly problem: string } | null;
}

/** The ids of tasks that have changed, in any way; null: any may have. */
export interface TaskChanges {
  readonly tasks: readonly string[] | null;
}

export interface RetryOptions {
  /** Instead of those of the old task. */
  readonly arguments?: unknown;
  /** The new task begins with what the old one's journal has up to the end of the step, question or other entry of this name. */
  readonly keepUpTo?: string;
}

/** What is done to many tasks. */
export type BulkAction = "cancel" | "retry" | "delete" | "extend";

export interface BulkOptions {
  /** Only says which tasks are meant. Default false. */
  readonly dryRun?: boolean;
  /** How many tasks at most, from 1 to 10,000. Default 1,000. */
  readonly limit?: number;
  /** With `extend`. */
  readonly until?: number | null;
  /** The `next` of a call that came to its limit. */
  readonly after?: string;
}

export interface BulkResult {
  /** With `dryRun`, those that would be changed; of `retry`, the old tasks. */
  readonly done: readonly string[];
  /** Of `retry`: the new tasks, in the order of `done`. */
  readonly created: readonly string[];
  readonly refused: readonly { readonly id: string; readonly code: string; readonly message: string }[];
  readonly next: string | null;
}

/** What operators see of a store. Everything rejects with `store_failed` where it does not answer. */
export interface AdminReads {
  /** Tasks, newest first. Rejects with `invalid_params` for a query that is none. */
  list(query?: TaskQuery): Promise<TaskPage>;
  /** Rejects with `unknown_task`, and with `task_unreadable` for one that is damaged. */
  show(id: string): Promise<TaskDetails>;
  counts(): Promise<Counts>;
  /** Why tasks of a tool failed: what the newest `limit` (default 1,000) of them say, the most frequent first. */
  failures(tool: string, limit?: number): Promise<readonly FailureGroup[]>;
  /** What webhooks have not been told yet, of those of which something waits. */
  webhooks(): Promise<readonly WebhookBacklog[]>;
  /** What happened in the last `minutes` (1 to 360, default 60), as the processes of servers have counted it; each tells the store every ten seconds. */
  activity(options?: { readonly minutes?: number }): Promise<Activity>;
  /** The processes that have the store open, the oldest first, and then those that are gone since at most ten minutes. */
  nodes(): Promise<readonly NodeSummary[]>;
  /** What operators did, newest first, below the number `before`; at most `limit` (default 100). */
  actions(options?: {
    readonly taskId?: string;
    readonly before?: number;
    readonly limit?: number;
  }): Promise<readonly AdminAction[]>;
  /**
   * Tells at once that any task may have changed, and from then on which have, their logs and outputs included, four times a second at most. Ends with
   * `signal`, and rejects where the store is closed or does not answer.
   */
  changes(options?: { readonly signal?: AbortSignal }): AsyncIterable<TaskChanges>;
}

/** What one operator does. Each action is recorded with the name of the operator, in the write that it is. All reject with `unknown_task` for a task that is not there. */
export interface AdminActs {
  /** Ends a task as cancelled. A handler that runs hears of it; one that is parked does not run again to clean up. Rejects with `finished`. */
  cancel(id: string): Promise<TaskSummary>;
  /** Answers open questions, by their keys, with the result objects that a client would send. Rejects with `invalid_params` for an answer that is none, and with `finished` where no such question is open. */
  answer(id: string, answers: Readonly<Record<string, unknown>>): Promise<TaskSummary>;
  /** Runs a finished task again, as a new task that names the old one, whose actions name the new one. Rejects with `unfinished`, and with `invalid_params` for a name that the journal has not. */
  retry(id: string, options?: RetryOptions): Promise<TaskSummary>;
  /** A task may run until then (epoch ms), and a finished one is kept until then; `null`: without end. */
  extend(id: string, until: number | null): Promise<TaskSummary>;
  /** Deletes a finished task with all that is stored of it. Rejects with `unfinished`. */
  delete(id: string): Promise<void>;
  /** Tasks of the tool are started nowhere from about a second later on; those that run go on. */
  pause(tool: string): Promise<void>;
  resume(tool: string): Promise<void>;
  /** Messages of a webhook that were given up are sent once more, within a minute. */
  resend(webhook: string): Promise<{ readonly resent: number }>;
  /** Does something to all tasks that are meant, the newest first. Rejects where the store fails: what was done until then is in `actions`. */
  bulk(action: BulkAction, selection: TaskSelection, options?: BulkOptions): Promise<BulkResult>;
}

/** For operators: what the store has, and what to do about it. */
export interface Admin extends AdminReads {
  /** What is done in the name of an operator. Throws `invalid_params` for an empty name. */
  as(actor: string): AdminActs;
}
