import * as z from "zod/mini";
import {
  retryOptions,
  taskDetails,
  taskPage,
  taskQuery,
  taskSelection,
  taskSummary,
  type RetryOptions,
  type TaskDetails,
  type TaskPage,
  type TaskQuery,
  type TaskSelection,
  type TaskSummary,
} from "./admin.ts";
import {
  filePart,
  fileQuery,
  type FilePart,
  type FileQuery,
  timelinePage,
  timelineQuery,
  type TimelinePage,
  type TimelineQuery,
} from "./task-parts.ts";
import { DeclaredFailureActs, DeclaredFailureReads } from "./incident-operations.ts";
import { operation } from "./operation.ts";
import { roleForEnd, roleForExtend } from "./roles.ts";
import {
  described,
  nonEmpty,
  number,
  text,
  countUpTo,
  flag,
  list,
  member,
  optional,
  sent,
  shown,
  textOrNull,
  time,
  timeOrNull,
  whole,
  type Schema,
} from "./shape.ts";
import { bulkActions, type BulkAction } from "../task/bulk.ts";

// A part of the table of operations: what there is of a task, and what is done to one or to many.

export type { BulkAction };

export const bulkAction = z.enum(Object.keys(bulkActions) as BulkAction[]);

/** The maximum number of tasks in a bulk job. */
export const mostInBulk = 1_000_000;

/** The number of tasks in each list of an answer. */
export const mostBulkIds = 1_000;

class DeclaredBulkOptions {
  /** Only selects the tasks, and reports which they are. `job` then acts on just these. Default false. */
  readonly dryRun? = optional(described(flag, "Only select the tasks, and report which they are."));
  /** The job of a dry run: acts on the tasks that it selected. */
  readonly job? = optional(described(text, "The job of a dry run: act on the tasks that it selected."));
  /** Maximum number of tasks, from 1 to 1,000,000, which is the default. */
  readonly limit? = optional(countUpTo(mostInBulk, mostInBulk, "The maximum number of tasks."));
  /** For `extend`. */
  readonly until? = optional(described(z.nullable(number), "Epoch milliseconds; null: no limit."));
  /** For `retry`: repeats everything as new tasks, as in `RetryOptions`. Default false. */
  readonly fromStart? = optional(described(flag, "For retry: repeat everything, as new tasks."));
}

/** Options of an action on many tasks. */
export interface BulkOptions extends DeclaredBulkOptions {}

export const bulkOptions = sent<BulkOptions>("BulkOptions", DeclaredBulkOptions);

class DeclaredBulkResult {
  /** The job, whose progress `bulkJob` shows. */
  readonly job = member(text);
  /** The changed tasks; after a dry run, those that would be changed. For `retry`, the old tasks. The first 1,000, as in each list. */
  readonly done = member(list(text));
  /** For `retry`: the new tasks, in the order of `done`. */
  readonly created = member(list(text));
  readonly refused = member(list(z.object({ id: text, code: text, message: text })));
}

/** A bulk job once it is done, or what was done after ten seconds. */
export interface BulkResult extends DeclaredBulkResult {}

export const bulkResult = shown<BulkResult>("BulkResult", DeclaredBulkResult);

const bulkStates = ["previewed", "running", "done", "cancelled"] as const;

class DeclaredBulkJob extends DeclaredBulkResult {
  /** `previewed`: it was not started. `cancelled`: an operator ended it before all was done. */
  readonly state = member(z.enum(bulkStates));
  readonly action = member(bulkAction);
  readonly actor = member(text);
  readonly selection: TaskSelection = member(taskSelection);
  readonly options: BulkJobOptions = member(
    z.object({
      limit: z.optional(whole),
      until: z.optional(z.nullable(number)),
      fromStart: z.optional(flag),
    }) as unknown as Schema<BulkJobOptions>,
  );
  /** The number of selected tasks, and how many of them the action is still to be applied to, was applied to, or refused. */
  readonly counts = member(z.object({ total: whole, open: whole, done: whole, refused: whole }));
  readonly createdAt = member(time);
  readonly startedAt = member(timeOrNull);
  readonly endedAt = member(timeOrNull);
  readonly cancelledBy = member(textOrNull);
}

type BulkJobOptions = Pick<BulkOptions, "limit" | "until" | "fromStart">;

/** A bulk action on tasks that were selected once. */
export interface BulkJobShown extends DeclaredBulkJob {}

export const bulkJob = shown<BulkJobShown>("BulkJob", DeclaredBulkJob);

export class DeclaredTaskReads extends DeclaredFailureReads {
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
}

export class DeclaredTaskActs extends DeclaredFailureActs {
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
