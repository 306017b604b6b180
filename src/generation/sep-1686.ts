/**
 * Tasks of SEP-1686, the original proposal, as they are on the wire. Requestors choose the ids, and a task is kept from its end
 * (`keepAlive`). Pure: from records and params to messages, and back.
 */

import type { GenerationName, TaskRecord, TaskSnapshot } from "../task/record.ts";
import {
  isJsonObject,
  type JsonObject,
  withMeta,
  type RelatedTask,
  metaOf,
  relationUnder,
  readMilliseconds,
  type WireNotification,
} from "./message.ts";
import { keptFrom } from "../task/expiry.ts";
import { HoldfastError } from "../task/fault.ts";
import { type JsonRpcError, statusOf } from "../task/outcome.ts";
import { errorText } from "../task/status-text.ts";
import { toolMetaOf, type ToolMeta } from "./extensions.ts";
import type { InputMethod } from "../task/journal.ts";

/** The generation name in records: the original proposal, in which requestors choose the ids. */
export const generation = "sep-1686" as const satisfies GenerationName;

/** Client requests that can become tasks (S-002). */
export const requestMethods = ["tools/call", "resources/read", "prompts/get"] as const;

export type RequestMethod = (typeof requestMethods)[number];

/** Server requests that can become tasks (S-002). */
export type ClientTaskMethod = "sampling/createMessage" | "elicitation/create";

/**
 * The value of `capabilities.tasks`: for each request type of each category, whether it can become a task (S-003). The categories are
 * direct members, as in the first text. A later text put them under `requests`; there, clients that know 2025-11-25 reject a boolean and
 * end the handshake.
 */
export type TasksCapability = Readonly<Record<string, Readonly<Record<string, boolean>>>>;

/** What a server declares if it accepts these requests as tasks. */
export function serverTasksCapability(methods: readonly RequestMethod[]): TasksCapability {
  return capabilityOf(methods);
}

/** What a client declares if it accepts these requests as tasks. */
export function clientTasksCapability(methods: readonly ClientTaskMethod[]): TasksCapability {
  return capabilityOf(methods);
}

/**
 * Whether the other side declares that it accepts such a request as a task. One that declares nothing may still accept it (S-004, A-01):
 * only trying tells.
 */
export function declaresTask(capabilities: JsonObject, method: RequestMethod | ClientTaskMethod): boolean {
  const tasks = capabilities["tasks"];
  const path = method.split("/");
  return isTrue(tasks, path) || isTrue(tasks, ["requests", ...path]);
}

function capabilityOf(methods: readonly string[]): TasksCapability {
  const tasks: Record<string, Record<string, boolean>> = {};
  for (const method of methods) {
    const [category = "", type = ""] = method.split("/");
    tasks[category] = { ...tasks[category], [type]: true };
  }
  return tasks;
}

/** Only `true` counts: objects are declarations of a later revision. */
function isTrue(declared: unknown, path: readonly string[]): boolean {
  let at = declared;
  for (const name of path) at = isJsonObject(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  return at === true;
}

/** The task methods. None cancels a task: `notifications/cancelled` for its request does (S-063). */
export const taskMethods = ["tasks/get", "tasks/result", "tasks/list", "tasks/delete"] as const;

export type TasksMethod = (typeof taskMethods)[number];

/** The key in `_meta` that names the task a message belongs to (S-060). Its prefix differs from that of later revisions. */
export const relatedTaskKey = "modelcontextprotocol.io/related-task";

export const {
  entryOf: relatedTask,
  added: withRelatedTask,
  read: relatedTaskOf,
  progress: progressNotification,
  log: logNotification,
} = relationUnder(relatedTaskKey);

/** All statuses of a task (S-025). */
export const wireStatuses = [
  "submitted",
  "working",
  "input_required",
  "completed",
  "failed",
  "cancelled",
  "unknown",
] as const;

export type WireStatus = (typeof wireStatuses)[number];

/** Whether a status is final (S-030). `unknown` is final too. */
export function isFinal(status: WireStatus): boolean {
  return status === "completed" || status === "failed" || status === "cancelled" || status === "unknown";
}

/** A task in a list (S-045). */
export interface WireTask {
  readonly taskId: string;
  readonly status: WireStatus;
  /** Milliseconds from the end of the task; null: no end (S-036). */
  readonly keepAlive: number | null;
  /** Milliseconds between two polls (S-037). */
  readonly pollFrequency: number;
  /** Only for a failed task. */
  readonly error?: string;
  readonly _meta?: ToolMeta;
}

/** The answer to `tasks/get` (S-035). */
export interface GetTaskResult extends Omit<WireTask, "_meta"> {
  readonly _meta: Partial<ToolMeta> & { readonly [relatedTaskKey]: RelatedTask };
}

/** A task from its record alone, so that a page of them needs no bodies: there, the `error` of a failed task is cut (S-083). */
export function wireTask(task: TaskRecord): WireTask {
  return shown(task, task.statusMessage);
}

function shown(task: TaskRecord, error: string | null): WireTask {
  const status = wireStatus(task);
  return {
    taskId: task.wireId,
    status,
    keepAlive: keptFrom("terminal", task),
    pollFrequency: task.pollIntervalMs,
    ...(status === "failed" && error !== null ? { error } : {}),
    ...toolMetaOf(task),
  };
}

export function getTaskResult(snapshot: TaskSnapshot): GetTaskResult {
  const { task } = snapshot;
  const { _meta, ...whole } = shown(task, errorOf(snapshot));
  return { ...whole, _meta: { ..._meta, ...relatedTask(task.wireId) } };
}

/** Why a task failed, in full: no other answer contains it (S-042, S-083). Null for every other task. */
function errorOf({ task, outcome }: TaskSnapshot): string | null {
  if (outcome === null || wireStatus(task) !== "failed") return null;
  return errorText(JSON.parse(outcome.body) as JsonRpcError);
}

/**
 * `submitted`: no attempt has begun (S-026). `unknown` is for other servers: here, the fate of a task is always known (S-032). A result
 * with `isError` completes the task (S-084, A-09).
 */
export function wireStatus(task: TaskRecord): WireStatus {
  const status = statusOf(task);
  if (status === "working" && task.startedAt === null) return "submitted";
  if (status !== "settled") return status;
  switch (task.outcomeKind) {
    case "result":
    case "error_result":
      return "completed";
    case "error":
      return "failed";
    case null:
      throw new HoldfastError("internal", `Task ${task.id} has ended, but its outcome is missing.`);
  }
}

/** The key in `_meta` with which a request asks to become a task (S-006). */
export const taskKey = "modelcontextprotocol.io/task";

/** In bytes of UTF-8, as JSON: far more than any id needs, and short enough for an index of each store. */
const longestId = 1_024;

/** How a request asks to become a task. */
export interface TaskParams {
  /** Chosen by the requestor (S-007). */
  readonly taskId: string;
  /** How long the requestor wants the task kept after its end; whole milliseconds (S-008). */
  readonly keepAliveMs?: number;
}

/** Whether a request asks to become a task; `readTaskParams` checks whether the params are valid. */
export function asksForTask(params: unknown): boolean {
  return metaOf(params)[taskKey] !== undefined;
}

/** Whether the params of a request name a task of this generation: the one that it asks to become, or the one that it belongs to. */
export function namesTask(params: unknown): boolean {
  return asksForTask(params) || metaOf(params)[relatedTaskKey] !== undefined;
}

/** The task that a request asks to become, or undefined if it asks for none; throws `invalid_params` (S-020). */
export function readTaskParams(params: unknown): TaskParams | undefined {
  const task = metaOf(params)[taskKey];
  if (task === undefined) return undefined;
  const { taskId, keepAlive } = isJsonObject(task) ? task : {};
  if (typeof taskId !== "string" || taskId === "" || isTooLong(taskId)) {
    const problem = `_meta["${taskKey}"] needs a taskId: a string of 1 to ${longestId} bytes.`;
    throw new HoldfastError("invalid_params", problem);
  }
  if (keepAlive === undefined) return { taskId };
  return { taskId, keepAliveMs: readMilliseconds(keepAlive, `_meta["${taskKey}"].keepAlive`) };
}

function isTooLong(taskId: string): boolean {
  return taskId.length > longestId || new TextEncoder().encode(JSON.stringify(taskId)).length > longestId + 2;
}

/** Params that ask for a task with an id that the requestor chose. */
export function withTask(params: JsonObject, { taskId, keepAliveMs }: TaskParams): JsonObject {
  const keepAlive = keepAliveMs === undefined ? {} : { keepAlive: keepAliveMs };
  return withMeta(params, { [taskKey]: { taskId, ...keepAlive } });
}

/** The same params without the request for a task. */
export function withoutTask(params: JsonObject): JsonObject {
  const meta = params["_meta"];
  if (!isJsonObject(meta) || !Object.hasOwn(meta, taskKey)) return params;
  const { [taskKey]: _unasked, ...others } = meta;
  return { ...params, _meta: others };
}

/**
 * The answer to `tasks/result`: the result of the request, with its task (S-040). Throws `invalid_params` for a task that is not completed,
 * for any reason (S-041, S-042, S-078).
 */
export function taskResult({ task, outcome }: TaskSnapshot): JsonObject {
  const status = wireStatus(task);
  if (status !== "completed" || outcome === null) {
    throw new HoldfastError("invalid_params", `No result: the task is in status "${status}"`);
  }
  return withRelatedTask(JSON.parse(outcome.body) as JsonObject, task.wireId);
}

/**
 * The answer to the request itself when its task has ended (S-015). A result names its task; an error has no place for that. The requestor
 * that cancelled it gets no answer; other waiting ones get this error.
 */
export function requestAnswer({
  task,
  outcome,
}: TaskSnapshot): { readonly result: JsonObject } | { readonly error: JsonRpcError } {
  if (outcome === null) return { error: { code: -32603, message: "The task was cancelled" } };
  const body: unknown = JSON.parse(outcome.body);
  if (outcome.kind === "error") return { error: body as JsonRpcError };
  return { result: withRelatedTask(body as JsonObject, task.wireId) };
}

/** The answer to `tasks/delete`, empty except for its task (S-051). */
export interface DeleteTaskResult {
  readonly _meta: { readonly [relatedTaskKey]: RelatedTask };
}

/** The answer to `tasks/delete`; throws `unfinished` for a task that has not ended, and was kept (S-054). */
export function deleteTaskResult(taskId: string, kept: TaskRecord | undefined): DeleteTaskResult {
  if (kept !== undefined) {
    const problem = `The task cannot be deleted: it is in status "${wireStatus(kept)}". Cancel it first, then delete it.`;
    throw new HoldfastError("unfinished", problem);
  }
  return { _meta: relatedTask(taskId) };
}

/**
 * A question of a task, which names the task (S-057, S-062). It asks for a task on the client only if `task` is given, whatever its author
 * wrote.
 */
export function nestedRequest(
  method: InputMethod,
  params: JsonObject,
  taskId: string,
  task?: TaskParams,
): { readonly method: InputMethod; readonly params: JsonObject } {
  const own = withoutTask(params);
  return { method, params: withRelatedTask(task === undefined ? own : withTask(own, task), taskId) };
}

export const createdMethod = "notifications/tasks/created";

/** The task exists and can be requested from now on; contains only its id (S-011, S-012). */
export function createdNotification(taskId: string): WireNotification {
  return { method: createdMethod, params: { _meta: relatedTask(taskId) } };
}
