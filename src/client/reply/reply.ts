import type { CallToolResult } from "@modelcontextprotocol/client";
import type { JsonRpcError } from "../../task/outcome.ts";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import { toolOf } from "../../generation/extensions.ts";
import type { RemoteTask } from "../task/remote-task.ts";
import { TaskClientError } from "../task-client-error.ts";

export function isJsonRpcError(value: unknown): value is JsonRpcError {
  return isJsonObject(value) && Number.isInteger(value["code"]) && typeof value["message"] === "string";
}

/** The JSON-RPC error in the body of an HTTP error, if there is one. */
export function errorInBody(text: unknown): JsonRpcError | undefined {
  if (typeof text !== "string") return undefined;
  try {
    const body: unknown = JSON.parse(text);
    if (isJsonObject(body) && isJsonRpcError(body["error"])) return body["error"];
  } catch {
    // Not JSON, such as a proxy's page.
  }
  return undefined;
}

/** Longer texts are left out of error messages. */
const longest = 500;

/** The message in the body of an HTTP error: of a JSON-RPC error, an OAuth error, or a plain text. */
export function messageInBody(body: unknown): string | undefined {
  if (typeof body !== "string") return undefined;
  const rpc = errorInBody(body);
  if (rpc !== undefined) return rpc.message;
  const text = body.trim();
  if (text === "" || text.length > longest || isHtml(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (!isJsonObject(value)) return text;
    const { error_description: description, message, error } = value;
    return [description, message, error].find((candidate) => typeof candidate === "string");
  } catch {
    return text;
  }
}

export function isHtml(body: unknown): boolean {
  return typeof body === "string" && /^\s*<(?:!doctype|html|head|body|p|h1)\b/i.test(body);
}

/** What a task has in every status. */
export type TaskMembers = Pick<
  RemoteTask,
  "taskId" | "tool" | "createdAt" | "lastUpdatedAt" | "ttlMs" | "statusMessage" | "pollIntervalMs"
>;

/**
 * Reads what a task has in every status, where it has timestamps. A missing `lastUpdatedAt` is `createdAt`, and invalid
 * hints are ignored. `ttl` and `pollInterval` have other names in each generation.
 */
export function readTaskMembers(
  task: JsonObject,
  ttl: unknown,
  pollInterval: unknown,
): TaskMembers | Violation {
  const { createdAt, lastUpdatedAt, statusMessage } = task;
  const taskId = readTaskId(task, "sent");
  if (taskId instanceof Violation) return taskId;
  if (typeof createdAt !== "string") return new Violation("The server sent a task without createdAt");
  const tool = toolOf(task);
  return {
    taskId,
    ...(tool !== undefined && { tool }),
    createdAt,
    lastUpdatedAt: typeof lastUpdatedAt === "string" ? lastUpdatedAt : createdAt,
    ttlMs: isDuration(ttl) ? ttl : null,
    ...(typeof statusMessage === "string" && { statusMessage }),
    ...(isDuration(pollInterval) && { pollIntervalMs: pollInterval }),
  };
}

/** The id of a task that the server sent, created or listed. */
export function readTaskId({ taskId }: JsonObject, how: "sent" | "created" | "listed"): string | Violation {
  if (typeof taskId === "string" && taskId !== "") return taskId;
  return new Violation(`The server ${how} a task without a taskId`);
}

/** What is wrong with an answer that has to be about this task. */
export function violationOfId(answer: JsonObject, taskId: string): Violation | undefined {
  return answer["taskId"] === taskId ? undefined : new Violation("The server answered for another task");
}

/** What is wrong with a task of this status. */
export function unknownStatus(status: unknown): Violation {
  return new Violation(`The server sent a task with status ${JSON.stringify(status)}`);
}

/**
 * Reads a tool's result. Without content, it is none if its resultType says that it is something else, in whatever revision, or if it
 * is a task in the form of another revision, whose work has only begun.
 */
export function readToolResult(result: JsonObject): CallToolResult | Violation {
  const { content, task, resultType = "complete" } = result;
  if (content === undefined && resultType !== "complete") return unknownResultType(result);
  if (content === undefined && isJsonObject(task) && typeof task["taskId"] === "string")
    return new Violation(
      "The server answered with a task in the form of another protocol revision",
      task["taskId"],
    );
  const withContent = { content: [], ...result };
  return isToolResult(withContent)
    ? withContent
    : new Violation("The tool's result has content that is not a list");
}

// All other members are passed on unchecked.
function isToolResult(value: JsonObject): value is CallToolResult {
  return Array.isArray(value["content"]);
}

export function unknownResultType({ resultType, taskId }: JsonObject): Violation {
  const named = typeof taskId === "string" && taskId !== "" ? taskId : undefined;
  return new Violation(`The server answered with resultType ${JSON.stringify(resultType)}`, named);
}

/** The answer to a call that became no task. */
export function directAnswer(
  result: CallToolResult | Violation,
): { readonly kind: "result"; readonly result: CallToolResult } | Violation {
  return result instanceof Violation ? result : { kind: "result", result };
}

export function isDuration(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

/** There is no answer, but a repeat can succeed: no connection, a broken one, HTTP 429 or 5xx. */
export interface LostReply {
  readonly kind: "lost";
  /** Whether the server certainly did not begin to process the request. */
  readonly notReceived: boolean;
  /** Milliseconds that the server asked to wait before the next try. */
  readonly retryAfterMs: number | undefined;
  readonly message: string;
  readonly cause: unknown;
  /** The JSON-RPC error in the body of an HTTP 429 or 5xx. */
  readonly error: JsonRpcError | undefined;
}

/** There is no valid answer, and for this request a repeat would not help. */
export interface BadReply {
  readonly kind: "bad";
  readonly code: "connection" | "unauthorized" | "protocol";
  /** Whether the server itself said so, or this client: not a proxy, a firewall or a login page on the way. */
  readonly isFinal: boolean;
  /** See `isViolation`. */
  readonly isViolation?: boolean;
  readonly message: string;
  readonly cause?: unknown;
  /** The task that an invalid answer names. */
  readonly taskId?: string | undefined;
}

export interface ErrorReply {
  readonly kind: "error";
  readonly error: JsonRpcError;
}

export interface ValueReply<Value> {
  readonly kind: "value";
  readonly value: Value;
  /** Milliseconds that the server asked to wait before the next request. */
  readonly retryAfterMs?: number | undefined;
}

/** The outcome of one request. Its sender decides whether to repeat it. An aborted signal throws instead. */
export type Reply<Value> = ValueReply<Value> | ErrorReply | LostReply | BadReply;

/** A reply without an answer. */
export type Unanswered = Exclude<Reply<unknown>, { readonly kind: "value" }>;

/** Whether the server does not know the task that the request was about. */
export function isUnknown(reply: Reply<unknown>): boolean {
  return reply.kind === "error" && reply.error.code === -32602;
}

/**
 * Whether a request that may be repeated, such as a read of a known task, ends with this reply. Only what the server itself says about the
 * task or the caller ends it: the task is unknown, access is refused. Everything else passes: a page of a proxy, a server that is busy,
 * broken or being replaced.
 */
export function isFinal(reply: Unanswered): boolean {
  switch (reply.kind) {
    case "error":
      return isUnknown(reply) || isMissingCapability(reply.error);
    case "lost":
      return false;
    case "bad":
      return reply.isFinal;
  }
}

/** Whether the server failed, or is too busy: the same request may succeed later. */
export function isTransient({ code }: Pick<JsonRpcError, "code">): boolean {
  return code === -32603 || code === -32000;
}

/** Whether the answer is JSON-RPC, and what it says breaks the protocol. */
export function isViolation(reply: Reply<unknown>): boolean {
  return reply.kind === "bad" && reply.isViolation === true;
}

/** Parses the value of a reply by `read`; a violation becomes a bad reply with the code `protocol`. */
export function readReply<From, To>(reply: Reply<From>, read: (value: From) => To | Violation): Reply<To> {
  if (reply.kind !== "value") return reply;
  const value = read(reply.value);
  if (!(value instanceof Violation)) return { ...reply, value };
  const { message, taskId } = value;
  return { kind: "bad", code: "protocol", isFinal: false, isViolation: true, message, taskId };
}

/** Why an answer breaks the protocol. Returned, not thrown. */
export class Violation {
  readonly message: string;
  /** The task that the invalid answer names. */
  readonly taskId: string | undefined;

  constructor(message: string, taskId?: string) {
    this.message = message;
    this.taskId = taskId;
  }
}

// The published number, and the one of the extension's first text.
const missingCapabilityNumbers = [-32021, -32003];

/** The caller's error for a reply without a value. */
export function replyError(reply: Unanswered, taskId?: string): TaskClientError {
  switch (reply.kind) {
    case "error":
      return rpcError(reply.error, taskId);
    case "lost":
      if (reply.error !== undefined) return rpcError(reply.error, taskId);
      return new TaskClientError("connection", reply.message, { cause: reply.cause, taskId });
    case "bad":
      return new TaskClientError(reply.code, reply.message, {
        cause: reply.cause,
        taskId: taskId ?? reply.taskId,
      });
  }
}

/** The error for a task that this client has never seen, and the server does not know. */
export function unknownTask(reply: Reply<unknown>, taskId: string): TaskClientError {
  const error = reply.kind === "error" ? { error: reply.error } : {};
  return new TaskClientError("unknown_task", "The server does not know the task", { ...error, taskId });
}

/** The JSON-RPC error of a reply, if the server sent one. */
export function rpcErrorIn(reply: Reply<unknown>): JsonRpcError | undefined {
  return reply.kind === "error" || reply.kind === "lost" ? reply.error : undefined;
}

function rpcError(error: JsonRpcError, taskId: string | undefined): TaskClientError {
  const code = isMissingCapability(error) ? "missing_capability" : "rpc";
  return new TaskClientError(code, describeRpcError(error), { error, taskId });
}

/** An error in one line. Servers on the SDK's first version also put the code into the message; it is shown once. */
export function describeRpcError({ message, code }: Pick<JsonRpcError, "message" | "code">): string {
  const prefix = `MCP error ${code}: `;
  return `${message.startsWith(prefix) ? message.slice(prefix.length) : message} (${code})`;
}

function isMissingCapability({ code, data }: JsonRpcError): boolean {
  const named = typeof data === "object" && data !== null && "requiredCapabilities" in data;
  return named && missingCapabilityNumbers.includes(code);
}
