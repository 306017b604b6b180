/**
 * Tasks of protocol 2025-11-25, as they are on the wire. The requestor asks for a task with `params.task`, polls `tasks/get`, and fetches
 * the result with `tasks/result`. Pure: from records and params to messages, and back.
 */

import type { GenerationName, TaskRecord, TaskSnapshot } from "../task/record.ts";
import {
  isJsonObject,
  type JsonObject,
  type RelatedTask,
  isoTime,
  metaOf,
  relationUnder,
  readMilliseconds,
  type WireNotification,
} from "./message.ts";
import { keptFrom } from "../task/expiry.ts";
import { HoldfastError } from "../task/fault.ts";
import { isTerminal, statusOf, type JsonRpcError } from "../task/outcome.ts";
import { calledTool, toolMetaOf, type ToolMeta } from "./extensions.ts";
import type { InputMethod } from "../task/journal.ts";

/** The generation name in records: the protocol version that has tasks in its core. */
export const generation = "2025-11-25" as const satisfies GenerationName;

/** Requests that a client can declare to take as tasks (C-006). */
export type ClientTaskMethod = "sampling/createMessage" | "elicitation/create";

/** Whether a tool runs as a task: what its author sets, and what `tools/list` shows. */
export type TaskSupport = "required" | "optional" | "forbidden";

/** The value of a server's `capabilities.tasks` (C-005): present members are supported, missing ones are not. */
export interface ServerTasksCapability {
  readonly list?: Record<string, never>;
  readonly cancel: Record<string, never>;
  readonly requests: { readonly tools: { readonly call: Record<string, never> } };
}

/** A list shows one caller's tasks, so it is declared only if callers can be told apart. */
export function serverTasksCapability({ list }: { readonly list: boolean }): ServerTasksCapability {
  return { ...(list ? { list: {} } : {}), cancel: {}, requests: { tools: { call: {} } } };
}

/** The `execution` of a tool in `tools/list` (C-013). */
export function executionOf(taskSupport: TaskSupport): { readonly taskSupport: TaskSupport } {
  return { taskSupport };
}

/** Whether a client declares tasks for any request. */
export function declaresTasks(capabilities: JsonObject): boolean {
  return has(capabilities, ["tasks"]);
}

/** Whether a client accepts such a request as a task. Requests that it does not declare, it does not accept (C-009). */
export function takesTasks(capabilities: JsonObject, method: ClientTaskMethod): boolean {
  return has(capabilities, ["tasks", "requests", ...method.split("/")]);
}

/** Whether tasks that run on a client can be cancelled (C-011). */
export function clientCancels(capabilities: JsonObject): boolean {
  return has(capabilities, ["tasks", "cancel"]);
}

/** Whether a server accepts `tools/call` as a task. Each tool then decides for itself (C-014, C-015). */
export function serverTakesTasks(capabilities: JsonObject): boolean {
  return has(capabilities, ["tasks", "requests", "tools", "call"]);
}

/** Whether a server has `tasks/list` (C-010). */
export function serverLists(capabilities: JsonObject): boolean {
  return has(capabilities, ["tasks", "list"]);
}

/** Whether a server has `tasks/cancel` (C-011). */
export function serverCancels(capabilities: JsonObject): boolean {
  return has(capabilities, ["tasks", "cancel"]);
}

/** Each capability is an object: `true` declares nothing. */
function has(capabilities: JsonObject, path: readonly string[]): boolean {
  let at: unknown = capabilities;
  for (const name of path) at = isJsonObject(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  return isJsonObject(at);
}

/** The task methods. A server has `tasks/list` and `tasks/cancel` only if it declares them. */
export const taskMethods = ["tasks/get", "tasks/result", "tasks/list", "tasks/cancel"] as const;

export type TasksMethod = (typeof taskMethods)[number];

/** The key in `_meta` that names the task a message belongs to (C-097). */
export const relatedTaskKey = "io.modelcontextprotocol/related-task";

export const {
  entryOf: relatedTask,
  added: withRelatedTask,
  read: relatedTaskOf,
  progress: progressNotification,
  log: logNotification,
} = relationUnder(relatedTaskKey);

export type WireStatus = "working" | "input_required" | "completed" | "failed" | "cancelled";

/** A task in every answer, whatever its status (C-030 to C-036). */
export interface WireTask {
  readonly taskId: string;
  readonly status: WireStatus;
  readonly statusMessage?: string;
  /** ISO 8601 */
  readonly createdAt: string;
  /** ISO 8601 */
  readonly lastUpdatedAt: string;
  /** Milliseconds from creation; null: no end. */
  readonly ttl: number | null;
  readonly pollInterval: number;
  readonly _meta?: ToolMeta;
}

/**
 * A task from its record alone, so that a page of them needs no bodies. An unfinished task without a text shows its tool's name. Progress is
 * not shown, since there are progress notifications.
 */
export function wireTask(task: TaskRecord): WireTask {
  const statusMessage = task.statusMessage || (isTerminal(task.state) ? undefined : calledTool(task));
  return {
    taskId: task.wireId,
    status: wireStatus(task),
    ...(statusMessage ? { statusMessage } : {}),
    createdAt: isoTime(task.createdAt),
    lastUpdatedAt: isoTime(task.updatedAt),
    ttl: keptFrom("created", task),
    pollInterval: task.pollIntervalMs,
    ...toolMetaOf(task),
  };
}

/** A result with `isError` is a failed task here, unlike in other generations (C-116, A-09). */
export function wireStatus(task: TaskRecord): WireStatus {
  const status = statusOf(task);
  if (status !== "settled") return status;
  switch (task.outcomeKind) {
    case "result":
      return "completed";
    case "error_result":
    case "error":
      return "failed";
    case null:
      throw new HoldfastError("internal", `Task ${task.id} has ended, but its outcome is missing.`);
  }
}

/** What a host may tell its model while the task runs (C-026). */
export const immediateResponseKey = "io.modelcontextprotocol/model-immediate-response";

/** How a request asks to become a task. */
export interface TaskParams {
  /** How long the requestor wants the task kept from its creation; whole milliseconds. */
  readonly ttlMs?: number;
}

/**
 * Reads `params.task` of a request; undefined if there is none. The receiver generates the id, so an id in the request is ignored, like all
 * other members (C-040). Throws `invalid_params`.
 */
export function readTaskParams(params: unknown): TaskParams | undefined {
  const task = isJsonObject(params) ? params["task"] : undefined;
  if (task === undefined) return undefined;
  if (!isJsonObject(task)) throw new HoldfastError("invalid_params", "params.task must be an object.");
  const { ttl } = task;
  return ttl === undefined ? {} : { ttlMs: readMilliseconds(ttl, "params.task.ttl") };
}

/** The answer to a call that became a task: nested, unlike every other answer that shows one (C-024). */
export interface CreateTaskResult {
  readonly task: WireTask;
  readonly _meta: {
    readonly [immediateResponseKey]?: string;
    readonly [relatedTaskKey]: RelatedTask;
  };
}

/**
 * Always `working` (C-042), also if a repeated call finds a task that has moved on: the caller gets the task next anyway. The text of
 * an end would contradict that.
 */
export function createTaskResult({ task }: TaskSnapshot, immediateResponse?: string): CreateTaskResult {
  const shown = isTerminal(task.state) ? { ...task, statusMessage: null } : task;
  return {
    task: { ...wireTask(shown), status: "working" },
    _meta: {
      ...(immediateResponse === undefined ? {} : { [immediateResponseKey]: immediateResponse }),
      ...relatedTask(task.wireId),
    },
  };
}

/** The server's immediate response in `_meta` of its answer, if there is one. */
export function immediateResponseOf(result: JsonObject): string | undefined {
  const said = metaOf(result)[immediateResponseKey];
  return typeof said === "string" ? said : undefined;
}

/** The answer to `tasks/cancel`; throws `finished` if the task had ended before (C-078). */
export function cancelResult(task: TaskRecord, cancelled: boolean): WireTask {
  if (cancelled) return wireTask(task);
  const problem = `The task cannot be cancelled: it is already in terminal status "${wireStatus(task)}".`;
  throw new HoldfastError("finished", problem);
}

/** The answer to `tasks/result` on the wire. */
export type TaskResult = { readonly result: JsonObject } | { readonly error: JsonRpcError };

/**
 * The answer that the plain request would have got (C-058, C-060). A result names its task; an error is returned unchanged, since it has no
 * place for that. A cancelled task has neither and throws `invalid_params`.
 */
export function taskResult({ task, outcome }: TaskSnapshot): TaskResult {
  if (task.state === "cancelled") throw new HoldfastError("invalid_params", "Task was cancelled");
  if (outcome === null) throw new HoldfastError("internal", `Task ${task.id} has no outcome.`);
  if (outcome.kind === "error") return { error: JSON.parse(outcome.body) as JsonRpcError };
  return { result: withRelatedTask(JSON.parse(outcome.body) as JsonObject, task.wireId) };
}

/**
 * A question of a task, which names the task (C-092, C-099). It becomes a task on the client only if `task` is given, whatever its author
 * wrote: the caller must know first that the client accepts it (C-007).
 */
export function nestedRequest(
  method: InputMethod,
  params: JsonObject,
  taskId: string,
  task?: { readonly ttl?: number },
): { readonly method: InputMethod; readonly params: JsonObject } {
  const { task: _unasked, ...own } = params;
  const augmented = task === undefined ? own : { ...own, task };
  return { method, params: withRelatedTask(augmented, taskId) };
}

/** A changed task, in full and flat as in `tasks/get` (C-066); its own id is enough to relate it (C-069). */
export function statusNotification(task: WireTask): WireNotification {
  return { method: "notifications/tasks/status", params: { ...task } };
}
