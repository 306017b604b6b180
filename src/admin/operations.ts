import * as z from "zod/mini";
import {
  activity,
  drainOptions,
  nodeSummary,
  type Activity,
  type DrainOptions,
  type NodeSummary,
  callers,
  callersQuery,
  toolLatency,
  type Callers,
  type CallersQuery,
  type ToolLatency,
} from "./activity.ts";
import {
  adminAction,
  counts,
  taskChanges,
  type AdminAction,
  type Counts,
  type TaskChanges,
} from "./admin.ts";
import { operation, operationsOf } from "./operation.ts";
import { DeclaredTaskActs, DeclaredTaskReads } from "./task-operations.ts";
import {
  deliveryPage,
  deliveryQuery,
  resendOptions,
  resent,
  webhookBacklog,
  type DeliveryPage,
  type DeliveryQuery,
  type ResendOptions,
  type Resent,
  type WebhookBacklog,
} from "./task-parts.ts";
import { countUpTo, described, list, nonEmpty, text, whole } from "./shape.ts";

class DeclaredReads extends DeclaredTaskReads {
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

  /** Messages that webhooks have not accepted yet, newest first. */
  readonly deliveries = operation<(query?: DeliveryQuery) => Promise<DeliveryPage>>({
    method: "GET",
    path: "/deliveries",
    id: "listDeliveries",
    summary: "List the messages that webhooks have not accepted yet, newest first",
    role: "view",
    options: deliveryQuery,
    gives: deliveryPage,
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

  /** Whose tasks of the last `minutes` (default 60) failed most, or were worked on longest: of the newest 20,000 of these tasks. */
  readonly callers = operation<(query?: CallersQuery) => Promise<Callers>>({
    method: "GET",
    path: "/callers",
    id: "listCallers",
    summary: "List the callers with the most failed tasks, or with those that were worked on longest",
    role: "read",
    options: callersQuery,
    gives: callers,
  });

  /** How long each step of a tool took, from the newest `tasks` (default 200) of it that have ended. */
  readonly latency = operation<(tool: string, options?: { readonly tasks?: number }) => Promise<ToolLatency>>(
    {
      method: "GET",
      path: "/tools/{tool}/latency",
      id: "showLatency",
      summary: "Show how long each step of a tool took, slowest first",
      role: "view",
      takes: { tool: nonEmpty },
      options: {
        tasks: z.optional(countUpTo(1_000, 200, "How many of the newest ended tasks to look at.")),
      },
      gives: toolLatency,
    },
  );

  /** The processes that have the store open, oldest first, followed by those that are gone for at most ten minutes. */
  readonly nodes = operation<() => Promise<readonly NodeSummary[]>>({
    method: "GET",
    path: "/nodes",
    id: "listNodes",
    summary: "List the processes that have the store open, with the last report of each",
    role: "view",
    gives: list(nodeSummary),
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

class DeclaredActs extends DeclaredTaskActs {
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
   * delivered is not stored: the webhook is told how tasks stand now. Rejects with `invalid_params` for a range without `changedFrom`, and
   * for `messages` with other choices.
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
