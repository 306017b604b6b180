import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type ClientCapabilities,
  type Implementation,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type JSONRPCNotification,
  PROTOCOL_VERSION_META_KEY,
} from "@modelcontextprotocol/client";
import { extensionId, generation } from "../../generation/2026-07-28.ts";
import { resourceUpdated, taskLinesCapability } from "../../generation/extensions.ts";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import {
  directAnswer,
  isJsonRpcError,
  readReply,
  readTaskId,
  readTaskMembers,
  readToolResult,
  type Reply,
  unknownResultType,
  unknownStatus,
  Violation,
  violationOfId,
} from "../reply/reply.ts";
import type { CallAnswer, LineListener, ListenEnd, TaskListener } from "../task-protocol.ts";
import type { OpenQuestion, RemoteTask } from "../task/remote-task.ts";
import { acknowledgedMethod, listenMethod, subscriptionOf } from "../../generation/2026-07-28-listen.ts";
import type { ClientClock } from "../clock.ts";
import { rateLimitAsLost } from "../reply/retry.ts";
import { retryDelay } from "../task/poll-limits.ts";
import type { NotificationMatch } from "../transport/raw-request.ts";
import type { RawRequester } from "../transport/raw-requester.ts";

/** Adds the tasks extension to the capabilities. It has no settings. */
export function withTasks(capabilities: ClientCapabilities): ClientCapabilities {
  return { ...capabilities, extensions: { ...capabilities.extensions, [extensionId]: {} } };
}

/**
 * What the SDK's client declares. If it listens, it also declares that it accepts pushes of logs and outputs; this decides what the
 * server declares.
 */
export function declaredOnConnect(capabilities: ClientCapabilities, listens: boolean): ClientCapabilities {
  const declared = withTasks(capabilities);
  return listens
    ? { ...declared, extensions: { ...declared.extensions, [taskLinesCapability]: {} } }
    : declared;
}

/** The `_meta` of every request: servers remember nothing from earlier ones (X-002, X-B-001). */
export function envelope(
  capabilities: ClientCapabilities,
  clientInfo: Implementation,
): Record<string, unknown> {
  return {
    [PROTOCOL_VERSION_META_KEY]: generation,
    [CLIENT_CAPABILITIES_META_KEY]: withTasks(capabilities),
    [CLIENT_INFO_META_KEY]: clientInfo,
  };
}

/**
 * Removes the extension's declaration from the SDK client's own `tools/call`: the SDK cannot handle a task as the
 * answer, and the task would be lost. Without the declaration the server answers directly.
 */
export function withoutTasksOnCall(message: JSONRPCMessage): JSONRPCMessage {
  if (!isJSONRPCRequest(message) || message.method !== "tools/call") return message;
  const meta = message.params?._meta;
  const declared: unknown = meta?.[CLIENT_CAPABILITIES_META_KEY];
  if (!isJsonObject(declared) || !isJsonObject(declared["extensions"])) return message;
  const extensions = Object.entries(declared["extensions"]).filter(([id]) => id !== extensionId);
  const capabilities = { ...declared, extensions: Object.fromEntries(extensions) };
  const params = { ...message.params, _meta: { ...meta, [CLIENT_CAPABILITIES_META_KEY]: capabilities } };
  return { ...message, params };
}

/**
 * Reads the answer to `tools/call` by its resultType: a missing one means complete, an unknown one is invalid
 * (X-B-006).
 */
export function readCallAnswer(answer: JsonObject): CallAnswer | Violation {
  switch (answer["resultType"]) {
    case undefined:
    case "complete":
      return directAnswer(readCompleteResult(answer));
    case "task":
      return readCreated(answer);
    case "input_required":
      return readRound(answer);
    default:
      return unknownResultType(answer);
  }
}

/** Reads an acknowledgement. Only its resultType is checked. */
export function readAcknowledgement(answer: JsonObject): undefined | Violation {
  const known = answer["resultType"] === undefined || answer["resultType"] === "complete";
  return known ? undefined : unknownResultType(answer);
}

function readCreated(answer: JsonObject): CallAnswer | Violation {
  const taskId = readTaskId(answer, "created");
  if (taskId instanceof Violation) return taskId;
  // In any other status the answer lacks the result or the questions, and the task is polled at once.
  const task = answer["status"] === "working" ? readTask(answer) : undefined;
  return { kind: "task", taskId, task: task instanceof Violation ? undefined : task };
}

function readRound(answer: JsonObject): CallAnswer | Violation {
  const { inputRequests, requestState } = answer;
  if (requestState !== undefined && typeof requestState !== "string") {
    return new Violation("The server asks for input with a requestState that is not a string");
  }
  if (!isJsonObject(inputRequests) && requestState === undefined) {
    return new Violation("The server asks for input with neither inputRequests nor requestState");
  }
  const questions = readQuestions(inputRequests ?? {});
  return questions instanceof Violation ? questions : { kind: "questions", questions, requestState };
}

/** Reads the result of `tasks/get` for this task. The resultType "task" counts as "complete". */
export function readGetResult(answer: JsonObject, taskId: string): RemoteTask | Violation {
  const { resultType } = answer;
  if (resultType !== undefined && resultType !== "complete" && resultType !== "task") {
    return unknownResultType(answer);
  }
  return violationOfId(answer, taskId) ?? readTask(answer);
}

/** Reads a task. Unknown fields are left out, and invalid hints ignored. */
function readTask(answer: JsonObject): RemoteTask | Violation {
  const { status, ttlMs, pollIntervalMs } = answer;
  const base = readTaskMembers(answer, ttlMs, pollIntervalMs);
  if (base instanceof Violation) return base;
  switch (status) {
    case "working":
    case "cancelled":
      return { ...base, status };
    case "input_required": {
      const questions = readQuestions(answer["inputRequests"] ?? {});
      if (questions instanceof Violation) return questions;
      return { ...base, status, inputRequests: Object.fromEntries(questions) };
    }
    case "completed": {
      if (!isJsonObject(answer["result"]))
        return new Violation("The server sent a completed task without its result");
      const result = readCompleteResult(answer["result"]);
      return result instanceof Violation ? result : { ...base, status, result };
    }
    case "failed": {
      const { error } = answer;
      if (!isJsonRpcError(error)) return new Violation("The server sent a failed task without its error");
      return { ...base, status, error };
    }
    default:
      return unknownStatus(status);
  }
}

/** Reads `inputRequests`, with any methods. */
export function readQuestions(value: unknown): ReadonlyMap<string, OpenQuestion> | Violation {
  if (!isJsonObject(value)) return new Violation("The server sent inputRequests that are not an object");
  const questions = new Map<string, OpenQuestion>();
  for (const [key, request] of Object.entries(value)) {
    if (!isJsonObject(request) || typeof request["method"] !== "string") {
      return new Violation(`The server sent an input request without a method: ${JSON.stringify(key)}`);
    }
    const params = isJsonObject(request["params"]) ? request["params"] : {};
    questions.set(key, { method: request["method"], params });
  }
  return questions;
}

/** Reads a tool's result, from a direct answer or a task. In a task it may lack its resultType. */
function readCompleteResult(answer: JsonObject): CallToolResult | Violation {
  const { resultType, ...result } = answer;
  const isComplete = resultType === undefined || resultType === "complete";
  return isComplete ? readToolResult(result) : unknownResultType(answer);
}

/** How long the server may take to acknowledge. The stream itself has no time limit. */
const acknowledgementMs = 30_000;
/** The end of a stream that was open this long is not a failure. */
const steadyMs = 10_000;

interface ListenServices {
  readonly requester: RawRequester;
  readonly clock: ClientClock;
  /** The `_meta` of every request. */
  readonly meta: JsonObject;
}

interface Listener {
  /** Called with what the server accepted. False ends the stream: nothing that was asked for. */
  readonly onOpen: (notifications: JsonObject) => boolean;
  readonly onPush: (method: string, params: JsonObject) => void;
}

/** Listens to tasks by `subscriptions/listen`, until the server or the signal ends it. */
export async function listenToTasks(
  services: ListenServices,
  taskIds: readonly string[],
  listener: TaskListener,
  signal: AbortSignal,
): Promise<ListenEnd> {
  const onOpen: Listener["onOpen"] = (notifications) => {
    const accepted = notifications["taskIds"];
    if (!Array.isArray(accepted)) return false;
    listener.onOpen(accepted.filter((id) => typeof id === "string"));
    return true;
  };
  const onPush: Listener["onPush"] = (method, params) => {
    const task = method === "notifications/tasks" ? readTask(params) : undefined;
    // Invalid ones are ignored; the next poll reports the error.
    if (task !== undefined && !(task instanceof Violation)) listener.onTask(task);
  };
  return listen(services, { taskIds }, { onOpen, onPush }, signal);
}

/** Follows a log or an output on its own stream, which is opened again if it breaks; see `TaskProtocol.followLines`. */
export async function followLines(
  services: ListenServices,
  uri: string,
  listener: LineListener,
  signal: AbortSignal,
): Promise<void> {
  const { clock } = services;
  const onOpen: Listener["onOpen"] = ({ resourceSubscriptions: accepted }) => {
    const isAccepted = Array.isArray(accepted) && accepted.includes(uri);
    if (isAccepted) listener.onLive(true);
    return isAccepted;
  };
  const onPush: Listener["onPush"] = (method, params) => {
    if (method === resourceUpdated && params["uri"] === uri) listener.onGrown();
  };
  const asked = { resourceSubscriptions: [uri] };
  try {
    for (let failures = 0; ;) {
      const startedAt = clock.elapsed();
      const end = await listen(services, asked, { onOpen, onPush }, signal);
      if (end.kind === "refused") return;
      listener.onLive(false);
      failures = clock.elapsed() - startedAt >= steadyMs ? 1 : failures + 1;
      await clock.sleep(retryDelay(failures, clock.random(), end.retryAfterMs), signal);
    }
  } finally {
    listener.onLive(false);
  }
}

async function listen(
  { requester, clock, meta }: ListenServices,
  notifications: JsonObject,
  { onOpen, onPush }: Listener,
  signal: AbortSignal,
): Promise<ListenEnd> {
  const useless = new AbortController();
  const deadline = clock.deadline(acknowledgementMs);
  const matchNotification = (notification: JSONRPCNotification, id: string): NotificationMatch => {
    const { method, params } = notification;
    // A server ends the stream by answering the request, or by cancelling it.
    if (method === "notifications/cancelled" && params?.["requestId"] === id) return "end";
    if (subscriptionOf(params) !== id || !isJsonObject(params)) return "other";
    if (method === acknowledgedMethod) {
      deadline.clear();
      const accepted = params["notifications"];
      if (!onOpen(isJsonObject(accepted) ? accepted : {}))
        useless.abort(new Error("The server accepted none of the requested subscriptions"));
    } else onPush(method, params);
    return "mine";
  };
  try {
    const either = AbortSignal.any([signal, deadline.signal, useless.signal]);
    const params = { notifications, _meta: meta };
    // A server with too many streams of this client says when to try again.
    const reply = await requester.request(listenMethod, params, either, { matchNotification });
    return endOf(rateLimitAsLost(readReply(reply, readAcknowledgement)));
  } catch (error) {
    if (signal.aborted) throw error;
    if (useless.signal.aborted) return { kind: "refused" };
    if (deadline.signal.aborted) return { kind: "over", retryAfterMs: undefined };
    throw error;
  } finally {
    deadline.clear();
  }
}

function endOf(reply: Reply<unknown>): ListenEnd {
  const over = { kind: "over", retryAfterMs: undefined } as const;
  switch (reply.kind) {
    case "value":
      return over;
    case "lost":
      return { ...over, retryAfterMs: reply.retryAfterMs };
    case "error": // -32603: the server is full, or about to stop
      return reply.error.code === -32603 ? over : { kind: "refused" };
    case "bad": // another token may be accepted later
      return reply.code === "unauthorized" ? over : { kind: "refused" };
  }
}
