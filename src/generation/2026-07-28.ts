/**
 * Tasks of protocol 2026-07-28, as they are on the wire. The receiver decides what becomes a task; `tasks/get` has the result, and
 * `tasks/update` takes answers. Every request stands alone. Pure: from records and params to messages, and back.
 */

import type { GenerationName, TaskMethod, TaskSnapshot } from "../task/record.ts";
import { isJsonObject, isoTime, type JsonObject, logLevelOf, metaOf, readTaskId } from "./message.ts";
import { HoldfastError } from "../task/fault.ts";
import type { InputAnswer, InputMethod } from "../task/journal.ts";
import { isTerminal, statusOf } from "../task/outcome.ts";
import { calledTool, toolMetaOf, type ToolMeta } from "./extensions.ts";
import type { LogLevel } from "../task/task-line.ts";

/** The generation name in records: the protocol version that the extension builds on. */
export const generation = "2026-07-28" as const satisfies GenerationName;

/** The extension's id, under `extensions` of both sides' capabilities (X-001). */
export const extensionId = "io.modelcontextprotocol/tasks";

/** The key in each request that holds its client's capabilities. */
const clientCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";

/** Client capabilities, as they are declared. */
export type Capabilities = JsonObject;

/** What a client must declare to get tasks. */
export const tasksCapability: Capabilities = { extensions: { [extensionId]: {} } };

/** The capabilities of this request alone; earlier requests do not matter (X-006, X-B-003). */
export function readCapabilities(params: unknown): Capabilities | undefined {
  const meta = isJsonObject(params) ? params["_meta"] : undefined;
  const declared = isJsonObject(meta) ? meta[clientCapabilitiesKey] : undefined;
  return isJsonObject(declared) ? declared : undefined;
}

/** Whether the caller can handle a task. The legacy `tasks` capability does not count (X-P-014). */
export function declaresTasks(capabilities: Capabilities): boolean {
  const { extensions } = capabilities;
  return isJsonObject(extensions) && isJsonObject(extensions[extensionId]);
}

/** The named capabilities that are not declared, in the form in which capabilities are declared. */
export function missingCapabilities(
  names: readonly string[],
  capabilities: Capabilities,
): Capabilities | undefined {
  const missing = names.filter((name) => !isJsonObject(capabilities[name]));
  return missing.length === 0 ? undefined : Object.fromEntries(missing.map((name) => [name, {}]));
}

/** Request types that can be answered with a task; a list, so that more can be added. */
export const taskableMethods: readonly TaskMethod[] = ["tools/call"];

/** The methods of the extension. */
export const taskMethods = ["tasks/get", "tasks/update", "tasks/cancel"] as const;

export type TasksMethod = (typeof taskMethods)[number];

/** A task request, apart from its wire form. */
export type TasksCommand =
  | { readonly type: "get"; readonly taskId: string }
  | { readonly type: "update"; readonly taskId: string; readonly answers: readonly InputAnswer[] }
  | { readonly type: "cancel"; readonly taskId: string };

/** Reads the params of a message; throws `invalid_params` with the reason. */
export function readCommand(method: TasksMethod, params: unknown): TasksCommand {
  const object = isJsonObject(params) ? params : {};
  const taskId = readTaskId(method, object);
  switch (method) {
    case "tasks/get":
      return { type: "get", taskId };
    case "tasks/update":
      return { type: "update", taskId, answers: answersIn(readInputResponses(object)) };
    case "tasks/cancel":
      return { type: "cancel", taskId };
  }
}

function readInputResponses({ inputResponses }: JsonObject): JsonObject {
  if (isJsonObject(inputResponses)) return inputResponses;
  throw new HoldfastError("invalid_params", "tasks/update needs params.inputResponses: an object.");
}

/** What a client sent for each key, whatever it is: only who knows the question can say whether it is an answer. */
export function answersIn(inputResponses: JsonObject): InputAnswer[] {
  return Object.entries(inputResponses).map(([key, answer]) => ({ key, value: JSON.stringify(answer) }));
}

export type WireStatus = "working" | "input_required" | "completed" | "cancelled" | "failed";

/** The members of every task, whatever its status. */
export interface WireTask {
  readonly taskId: string;
  readonly status: WireStatus;
  readonly statusMessage?: string;
  /** ISO 8601 */
  readonly createdAt: string;
  /** ISO 8601 */
  readonly lastUpdatedAt: string;
  /** Milliseconds from creation; null: no end. */
  readonly ttlMs: number | null;
  readonly pollIntervalMs: number;
  readonly _meta?: ToolMeta;
}

/** A JSON-RPC error object, as inlined into a failed task. */
export interface WireError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

export function wireTask(view: TaskSnapshot): WireTask {
  const { task } = view;
  const statusMessage = statusText(task);
  return {
    taskId: task.wireId,
    status: wireStatus(view),
    ...(statusMessage ? { statusMessage } : {}),
    createdAt: isoTime(task.createdAt),
    lastUpdatedAt: isoTime(task.updatedAt),
    ttlMs: task.expiry.ms,
    pollIntervalMs: task.pollIntervalMs,
    ...toolMetaOf(task),
  };
}

/**
 * Tasks of this generation have no progress notifications, so the text shows the progress. Without any text or progress, it
 * names the tool. Once the task has ended, only the text of its end is left.
 */
function statusText(task: TaskSnapshot["task"]): string | undefined {
  const { state, statusMessage, progress } = task;
  if (isTerminal(state)) return statusMessage ?? undefined;
  if (progress === null) return statusMessage || calledTool(task);
  const { progress: done, total, message } = progress;
  const count = total === undefined ? String(done) : `${done} of ${total}`;
  const report = message === undefined ? count : `${count}: ${message}`;
  return statusMessage ? `${statusMessage} (${report})` : report;
}

/** `failed` is for JSON-RPC errors alone: a result with `isError` is a completed task. */
function wireStatus(view: TaskSnapshot): WireStatus {
  const status = statusOf(view.task);
  if (status !== "settled") return status;
  return outcomeOf(view).kind === "error" ? "failed" : "completed";
}

/** The result of a completed task, as the plain request would have answered it. */
export function resultOf(view: TaskSnapshot): JsonObject {
  return JSON.parse(outcomeOf(view).body) as JsonObject;
}

/** The error of a failed task, as the plain request would have answered it. */
export function errorOf(view: TaskSnapshot): WireError {
  return wireError(JSON.parse(outcomeOf(view).body) as WireError);
}

/** The code with which earlier revisions ask the client to open a URL. */
const urlElicitationRequired = -32042;

/** An error as this revision allows it: it asks only through questions (B-P-005). The URLs stay in its data. */
export function wireError(error: WireError): WireError {
  return error.code === urlElicitationRequired ? { ...error, code: -32603 } : error;
}

function outcomeOf({ task, outcome }: TaskSnapshot): NonNullable<TaskSnapshot["outcome"]> {
  if (outcome !== null) return outcome;
  throw new HoldfastError("internal", `Task ${task.id} has ended, but its outcome is missing.`);
}

/**
 * A result on the wire, alone or inside a completed task. It is always complete, whatever the handler returned: no tool can fake a
 * task.
 */
export function completeResult(result: JsonObject): JsonObject {
  return { ...result, resultType: "complete" };
}

/** A question to the client, as in `inputRequests`. */
export interface WireInputRequest {
  readonly method: InputMethod;
  readonly params: JsonObject;
}

/** A task with the members of its status. */
export type DetailedTask = WireTask & {
  readonly inputRequests?: Readonly<Record<string, WireInputRequest>>;
  readonly result?: JsonObject;
  readonly error?: WireError;
};

export function detailedTask(view: TaskSnapshot): DetailedTask {
  const task = wireTask(view);
  switch (task.status) {
    case "working":
    case "cancelled":
      return task;
    case "input_required":
      return { ...task, inputRequests: wireInputRequests(view) };
    case "completed":
      return { ...task, result: completeResult(resultOf(view)) };
    case "failed":
      return { ...task, error: errorOf(view) };
  }
}

/**
 * The answer to `tasks/get` as JSON text, with more in `_meta`. The result of a completed task is stored as text and sent unchanged: it may
 * be large, and each client reads it at least once.
 */
export function detailedTaskText(view: TaskSnapshot, meta: JsonObject): string {
  const { outcome } = view;
  const task = wireTask(view);
  if (task.status !== "completed" || outcome === null) {
    return JSON.stringify({ ...withFirstMeta(detailedTask(view), meta), resultType: "complete" });
  }
  const shown = JSON.stringify(withFirstMeta(task, meta));
  return `${shown.slice(0, -1)},"result":${completeText(outcome.body)},"resultType":"complete"}`;
}

function withFirstMeta(task: WireTask, meta: JsonObject): JsonObject {
  return { ...task, _meta: { ...meta, ...task._meta } };
}

/** Like `completeResult`, on JSON text without whitespace around it. */
function completeText(body: string): string {
  const isPlain = body.startsWith('{"') && body.endsWith("}") && !body.includes('"resultType"');
  return isPlain
    ? `${body.slice(0, -1)},"resultType":"complete"}`
    : JSON.stringify(completeResult(JSON.parse(body) as JsonObject));
}

/** All questions that are open now; the next poll repeats them. */
function wireInputRequests({ inputs }: TaskSnapshot): Record<string, WireInputRequest> {
  // fromEntries keeps any key, `__proto__` too, as a plain member
  return Object.fromEntries(
    inputs.map(({ key, method, params }) => [key, { method, params: JSON.parse(params) as JsonObject }]),
  );
}

/** The answer to a call that became a task: flat, and the only result with this `resultType`. */
export interface CreateTaskResult extends WireTask {
  readonly resultType: "task";
}

/** A repeated call may find its task finished. The answer shows that status; the result is for `tasks/get`. */
export function createTaskResult(view: TaskSnapshot): CreateTaskResult {
  return { resultType: "task", ...wireTask(view) };
}

/** The answer to a call that needs input before it can continue: the client calls again with both (X-B-008). */
export interface InputRequiredResult {
  readonly resultType: "input_required";
  readonly inputRequests: Readonly<Record<string, WireInputRequest>>;
  /** Opaque to the client, which returns it unchanged. */
  readonly requestState: string;
}

export function inputRequiredResult(
  questions: readonly (WireInputRequest & { readonly key: string })[],
  requestState: string,
): InputRequiredResult {
  // fromEntries keeps any key, `__proto__` too, as a plain member
  const inputRequests = Object.fromEntries(
    questions.map(({ key, method, params }) => [key, { method, params }]),
  );
  return { resultType: "input_required", inputRequests, requestState };
}

/** What a call brings from an earlier round (X-B-009); a first call brings nothing. */
export interface Retry {
  readonly requestState: string | undefined;
  /** By key, as the client sent them; not yet checked. */
  readonly inputResponses: JsonObject;
}

/** Reads the params of a call; throws `invalid_params` with the reason. */
export function readRetry({ requestState, inputResponses = {} }: JsonObject): Retry {
  if (requestState !== undefined && typeof requestState !== "string") {
    throw new HoldfastError("invalid_params", "params.requestState must be the string that the server sent.");
  }
  if (!isJsonObject(inputResponses)) {
    throw new HoldfastError("invalid_params", "params.inputResponses must be an object.");
  }
  return { requestState, inputResponses };
}

/** Holds the lowest level of log messages that the client wants. */
const logLevelKey = "io.modelcontextprotocol/logLevel";

/** Undefined if the request's client wants no log messages. */
export function readLogLevel(params: unknown): LogLevel | undefined {
  return logLevelOf(metaOf(params)[logLevelKey]);
}
