import type { Admin, AdminActs } from "../admin.ts";
import type { AdminFaultCode } from "../admin-faults.ts";
import type { Query } from "./query.ts";
import { answersIn, bulkRequest, nothingIn, retryOptions, taskQuery, untilIn } from "./read-request.ts";
import { listOf, reference, type Schema } from "./schema.ts";

/** An authorized request to an admin endpoint. */
export interface AdminCall {
  readonly admin: Admin;
  /** Actions in the caller's name. */
  readonly acts: () => AdminActs;
  /** The name in the path: of a task or a tool. */
  readonly name: string;
  readonly query: Query;
  /** The parsed JSON of a POST. */
  readonly body: unknown;
}

export interface Parameter {
  readonly description: string;
  readonly schema: Schema;
}

/** One operation of an admin endpoint. GET changes nothing. */
export type AdminRoute = Answered | Followed;

interface Answered extends RouteHead {
  readonly run: (call: AdminCall) => Promise<unknown>;
}

/** A stream of events: each answer is one event. */
interface Followed extends RouteHead {
  readonly follow: (call: AdminCall, signal: AbortSignal) => AsyncIterable<unknown, unknown>;
}

interface RouteHead {
  readonly method: "GET" | "POST" | "DELETE";
  /** Below the path of the endpoint; `{…}` is one percent-encoded name. */
  readonly path: string;
  /** The operation's id for programs. */
  readonly operation: string;
  readonly summary: string;
  readonly query?: Readonly<Record<string, Parameter>>;
  /** The body of a POST. */
  readonly body?: string;
  /** Left out: 204. */
  readonly answer?: Schema;
  /** Refusals besides those of every route. */
  readonly faults: readonly AdminFaultCode[];
}

const text: Schema = { type: "string" };
const whole: Schema = { type: "integer", minimum: 0 };

function limit(most: number, usual: number): Parameter {
  return {
    description: "The maximum number of results.",
    schema: { type: "integer", minimum: 1, maximum: most, default: usual },
  };
}

const listed: AdminRoute = {
  method: "GET",
  path: "/tasks",
  operation: "listTasks",
  summary: "List tasks, newest first",
  query: {
    state: {
      description: "Tasks in this state. Repeat it for several states.",
      schema: listOf(reference("AdminTaskState")),
    },
    tool: { description: "Tasks of this tool.", schema: text },
    principal: { description: "Tasks of this caller.", schema: text },
    nobody: {
      description: "If true, tasks of unidentified callers. Cannot be combined with principal.",
      schema: { type: "boolean" },
    },
    owner: { description: "Tasks that this process runs, will run or ran last.", schema: text },
    createdFrom: {
      description: "Tasks created at this time or later, in epoch milliseconds.",
      schema: whole,
    },
    createdBefore: { description: "Tasks created before this time, in epoch milliseconds.", schema: whole },
    text: { description: "Tasks whose status text contains this, ignoring case.", schema: text },
    retried: {
      description: "If true, tasks that were run again as others; if false, the rest.",
      schema: { type: "boolean" },
    },
    limit: limit(1_000, 50),
    after: { description: "The next of the previous page.", schema: text },
  },
  answer: reference("TaskPage"),
  faults: ["invalid_params"],
  run: ({ admin, query }) => admin.list(taskQuery(query)),
};

const summary = reference("TaskSummary");

export const routes: readonly AdminRoute[] = [
  listed,
  {
    method: "GET",
    path: "/tasks/{id}",
    operation: "showTask",
    summary: "Get a task with its journal, attempts, questions, outcome, log and output",
    answer: reference("TaskDetails"),
    faults: ["unknown_task", "task_unreadable"],
    run: ({ admin, name }) => admin.show(name),
  },
  {
    method: "GET",
    path: "/counts",
    operation: "countTasks",
    summary: "Count the tasks of each tool, and show which tools are paused",
    answer: reference("Counts"),
    faults: [],
    run: ({ admin }) => admin.counts(),
  },
  {
    method: "GET",
    path: "/failures/{tool}",
    operation: "listFailures",
    summary: "Group a tool's most recent failures by reason, most frequent first",
    query: { limit: limit(10_000, 1_000) },
    answer: listOf(reference("FailureGroup")),
    faults: ["invalid_params"],
    run: ({ admin, name, query }) => admin.failures(name, query.number("limit")),
  },
  {
    method: "GET",
    path: "/webhooks",
    operation: "listWebhooks",
    summary: "Count the undelivered messages of each webhook that has any",
    answer: listOf(reference("WebhookBacklog")),
    faults: [],
    run: ({ admin }) => admin.webhooks(),
  },
  {
    method: "GET",
    path: "/activity",
    operation: "showActivity",
    summary: "Count the tasks of each tool and the refused requests of the last minutes",
    query: {
      minutes: {
        description: "The number of minutes, including the current one.",
        schema: { type: "integer", minimum: 1, maximum: 360, default: 60 },
      },
    },
    answer: reference("Activity"),
    faults: ["invalid_params"],
    run({ admin, query }) {
      const minutes = query.number("minutes");
      return admin.activity(minutes === undefined ? {} : { minutes });
    },
  },
  {
    method: "GET",
    path: "/nodes",
    operation: "listNodes",
    summary: "List the processes that have the store open, with the last report of each",
    answer: listOf(reference("NodeSummary")),
    faults: [],
    run: ({ admin }) => admin.nodes(),
  },
  {
    method: "POST",
    path: "/webhooks/{webhook}/resend",
    operation: "resendWebhook",
    summary: "Resend a webhook's messages that could not be delivered",
    body: "Nothing",
    answer: reference("Resent"),
    faults: ["invalid_params"],
    async run({ acts, name, body }) {
      nothingIn(body);
      return acts().resend(name);
    },
  },
  {
    method: "GET",
    path: "/actions",
    operation: "listActions",
    summary: "List operators' actions, newest first",
    query: {
      taskId: { description: "Actions on this task.", schema: text },
      before: { description: "Actions with a smaller seq.", schema: whole },
      limit: limit(1_000, 100),
    },
    answer: listOf(reference("AdminAction")),
    faults: ["invalid_params"],
    run({ admin, query }) {
      const [taskId, before, most] = [query.text("taskId"), query.number("before"), query.number("limit")];
      return admin.actions({
        ...(taskId !== undefined && { taskId }),
        ...(before !== undefined && { before }),
        ...(most !== undefined && { limit: most }),
      });
    },
  },
  {
    method: "GET",
    path: "/changes",
    operation: "followTasks",
    summary: "Stream the ids of tasks as they change. The first event says that any task may have changed",
    answer: reference("TaskChanges"),
    faults: [],
    follow: ({ admin }, signal) => admin.changes({ signal }),
  },
  {
    method: "POST",
    path: "/tasks/{id}/cancel",
    operation: "cancelTask",
    summary: "Cancel a task",
    body: "Nothing",
    answer: summary,
    faults: ["unknown_task", "finished"],
    async run({ acts, name, body }) {
      nothingIn(body);
      return acts().cancel(name);
    },
  },
  {
    method: "POST",
    path: "/tasks/{id}/answer",
    operation: "answerTask",
    summary: "Answer open questions by their keys, with the result objects that a client would send",
    body: "Answers",
    answer: summary,
    faults: ["unknown_task", "finished"],
    run: async ({ acts, name, body }) => acts().answer(name, answersIn(body)),
  },
  {
    method: "POST",
    path: "/tasks/{id}/retry",
    operation: "retryTask",
    summary: "Run a finished task again as a new task, which goes on from what succeeded",
    body: "RetryOptions",
    answer: summary,
    faults: ["unknown_task", "unfinished", "finished"],
    run: async ({ acts, name, body }) => acts().retry(name, retryOptions(body)),
  },
  {
    method: "POST",
    path: "/tasks/{id}/extend",
    operation: "extendTask",
    summary: "Set how long an unfinished task may run, or a finished one is kept",
    body: "Extension",
    answer: summary,
    faults: ["unknown_task"],
    run: async ({ acts, name, body }) => acts().extend(name, untilIn(body)),
  },
  {
    method: "DELETE",
    path: "/tasks/{id}",
    operation: "deleteTask",
    summary: "Delete a finished task and everything stored about it",
    faults: ["unknown_task", "unfinished"],
    run: ({ acts, name }) => acts().delete(name),
  },
  ...(["pause", "resume"] as const).map((change): AdminRoute => ({
    method: "POST",
    path: `/tools/{tool}/${change}`,
    operation: `${change}Tool`,
    summary: change === "pause" ? "Stop starting a tool's tasks" : "Start a paused tool's tasks again",
    body: "Nothing",
    faults: [],
    async run({ acts, name, body }) {
      nothingIn(body);
      await acts()[change](name);
    },
  })),
  {
    method: "POST",
    path: "/bulk",
    operation: "changeTasks",
    summary: "Apply an action to all selected tasks, newest first. A dry run only lists them",
    body: "BulkRequest",
    answer: reference("BulkResult"),
    faults: [],
    async run({ acts, body }) {
      const { action, selection, options } = bulkRequest(body);
      return acts().bulk(action, selection, options);
    },
  },
];
