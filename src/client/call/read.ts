import {
  type GetPromptResult,
  type ReadResourceResult,
  type RequestOptions,
  ProtocolError,
  SdkError,
  SdkErrorCode,
} from "@modelcontextprotocol/client";
import type { JsonObject } from "../../generation/message.ts";
import type { BackgroundWork } from "../background-work.ts";
import type { ClientClock } from "../clock.ts";
import { rateLimitAsLost, sendWithRetries } from "../reply/retry.ts";
import { replyError, type Reply, type Unanswered } from "../reply/reply.ts";
import type { ReadOptions } from "../task-client.ts";
import { TaskClientError } from "../task-client-error.ts";
import { type TaskHandle, readMs, withWaitLimit } from "../task/task-handle.ts";
import type { ReadAnswer, ReadRequest, TaskProtocol } from "../task-protocol.ts";
import { makeIdempotencyKey } from "./pending-call.ts";
import { errorAnswer, rpcErrorOf, sendFailure } from "../transport/send-failure.ts";

export interface ReadServices {
  readonly protocol: TaskProtocol;
  readonly clock: ClientClock;
  readonly background: BackgroundWork;
  /** The handle of a new task. */
  readonly handle: (taskId: string, options: Pick<ReadOptions, "deleteAfterFetch">) => TaskHandle;
  /** Tries to cancel a task, within a few seconds. */
  readonly cancel: (handle: TaskHandle) => Promise<void>;
}

interface Read<Result> extends Pick<ReadRequest, "method" | "params"> {
  /** Throws a TaskClientError for an invalid answer. */
  readonly toResult: (answer: JsonObject) => Result;
  /** The read without a task, for generations where reads cannot be tasks. */
  readonly plain: (options: RequestOptions) => Promise<Result>;
}

/** Reads a resource or a prompt, as a task if possible, and waits for the result. */
export async function readInTask<Result>(
  { method, params, toResult, plain }: Read<Result>,
  { protocol, clock, background, handle: open, cancel }: ReadServices,
  { ttlMs, deleteAfterFetch, ...waiting }: ReadOptions,
): Promise<Result> {
  const keepAliveMs = readMs("ttlMs", ttlMs);
  const { read } = protocol;
  return withWaitLimit(waiting, { clock, background }, async (signal) => {
    if (read === undefined) return plainRead(plain, signal);
    const request = { method, params, taskId: makeIdempotencyKey(), keepAliveMs };
    const started = await startRead(request, read, clock, signal);
    if (started.kind === "result") return toResult(started.result);
    const handle = open(request.taskId, { deleteAfterFetch });
    try {
      const { content, ...result } = await handle.result({ ...waiting, timeoutMs: undefined, signal });
      return toResult(content.length === 0 ? result : { content, ...result });
    } catch (error) {
      // No other client knows the task's id.
      if (signal.aborted && !background.closing.aborted) await cancel(handle);
      throw error;
    }
  });
}

/** Sends a read until it is answered or becomes a task. Repeating is safe: the protocol looks for the task first. */
async function startRead(
  request: Omit<ReadRequest, "repeat">,
  read: NonNullable<TaskProtocol["read"]>,
  clock: ClientClock,
  signal: AbortSignal,
): Promise<ReadAnswer> {
  let repeat = false;
  const reply = await sendWithRetries(() => read({ ...request, repeat }, signal), clock, signal, {
    mayRepeat: (failed) => {
      if (failed.kind !== "lost") return false;
      repeat ||= !failed.notReceived;
      return true;
    },
  });
  if (reply.kind !== "value") throw replyError(reply);
  return reply.value;
}

export function toResource(answer: JsonObject): ReadResourceResult {
  if (isResource(answer)) return answer;
  throw new TaskClientError("protocol", "The server answered resources/read without contents");
}

export function toPrompt(answer: JsonObject): GetPromptResult {
  if (isPrompt(answer)) return answer;
  throw new TaskClientError("protocol", "The server answered prompts/get without messages");
}

// All other members are passed on unchecked.
function isResource(answer: JsonObject): answer is ReadResourceResult {
  return Array.isArray(answer["contents"]);
}

function isPrompt(answer: JsonObject): answer is GetPromptResult {
  return Array.isArray(answer["messages"]);
}

/** The longest delay of a timer: the signal limits the time, not the SDK. */
const noTimeoutMs = 2 ** 31 - 1;

/** A read by the SDK's client. Rejects with a TaskClientError, or the signal's reason. */
export async function plainRead<Result>(
  read: (options: RequestOptions) => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  const reply = await plainReply(read, signal);
  if (reply.kind === "value") return reply.value;
  throw replyError(reply);
}

/** The same, with what the server says about the next try. Rejects with the signal's reason, or if a repeat would not help. */
export async function plainReply<Result>(
  read: (options: RequestOptions) => Promise<Result>,
  signal: AbortSignal,
): Promise<Reply<Result>> {
  try {
    return { kind: "value", value: await read({ signal, timeout: noTimeoutMs }) };
  } catch (cause) {
    signal.throwIfAborted();
    return rateLimitAsLost(plainFailure(cause));
  }
}

function plainFailure(cause: unknown): Unanswered {
  if (
    cause instanceof TaskClientError &&
    cause.code !== "connection" &&
    cause.code !== "unauthorized" &&
    cause.code !== "protocol"
  )
    throw cause;
  // A question in the server's answer, of a kind that this client did not declare.
  if (cause instanceof SdkError && cause.code === SdkErrorCode.CapabilityNotSupported)
    throw new TaskClientError("unanswered", cause.message, { cause });
  if (cause instanceof ProtocolError) return errorAnswer(rpcErrorOf(cause));
  return sendFailure(cause);
}
