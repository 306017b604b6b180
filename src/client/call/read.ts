import type { GetPromptResult, ReadResourceResult, RequestOptions } from "@modelcontextprotocol/client";
import type { JsonObject } from "../../generation/json-object.ts";
import type { ClientClock } from "../clock.ts";
import { persist } from "../reply/persist.ts";
import { replyError } from "../reply/reply-error.ts";
import type { ReadOptions } from "../task-client.ts";
import { TaskClientError } from "../task-client-error.ts";
import type { TaskHandle } from "../task/task-handle.ts";
import { assertMs, within } from "../task/wait-limit.ts";
import type { ReadAnswer, ReadRequest, TaskProtocol } from "../task-protocol.ts";
import { makeIdempotencyKey } from "./idempotency-key.ts";
import { plainRead } from "./plain-read.ts";

export interface ReadServices {
  readonly protocol: TaskProtocol;
  readonly clock: ClientClock;
  readonly closing: AbortSignal;
  /** The handle of a task that was just made. */
  readonly handle: (taskId: string, options: Pick<ReadOptions, "deleteAfterFetch">) => TaskHandle;
  /** Cancels a task, as far as that can be had in time. */
  readonly cancel: (handle: TaskHandle) => Promise<void>;
}

interface Read<Result> extends Pick<ReadRequest, "method" | "params"> {
  /** Throws a TaskClientError for an answer that is none. */
  readonly toResult: (answer: JsonObject) => Result;
  /** The same where reads cannot be tasks. */
  readonly plain: (options: RequestOptions) => Promise<Result>;
}

/** Reads, in a task where reads can be tasks, and waits for what comes of it. */
export async function readInTask<Result>(
  { method, params, toResult, plain }: Read<Result>,
  { protocol, clock, closing, handle: open, cancel }: ReadServices,
  { ttlMs, deleteAfterFetch, ...waiting }: ReadOptions,
): Promise<Result> {
  assertMs("ttlMs", ttlMs);
  const { read } = protocol;
  return within(waiting, { clock, closing }, async (signal) => {
    if (read === undefined) return plainRead(plain, signal);
    const request = { method, params, taskId: makeIdempotencyKey(), keepAliveMs: ttlMs };
    const started = await startRead(request, read, clock, signal);
    if (started.kind === "result") return toResult(started.result);
    const handle = open(request.taskId, { deleteAfterFetch });
    try {
      const { content, ...result } = await handle.result({ ...waiting, timeoutMs: undefined, signal });
      return toResult(content.length === 0 ? result : { content, ...result });
    } catch (error) {
      // Nobody can find it again.
      if (signal.aborted && !closing.aborted) await cancel(handle);
      throw error;
    }
  });
}

/**
 * Sends a read until it was answered or became a task. It can come again: where its answer was lost, the protocol looks for
 * its task before.
 */
async function startRead(
  request: Omit<ReadRequest, "repeat">,
  read: NonNullable<TaskProtocol["read"]>,
  clock: ClientClock,
  signal: AbortSignal,
): Promise<ReadAnswer> {
  let repeat = false;
  const reply = await persist(() => read({ ...request, repeat }, signal), clock, signal, {
    mayRepeat: ({ notReceived }) => {
      repeat ||= !notReceived;
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

// The rest is the author's own and goes to the caller as it came.
function isResource(answer: JsonObject): answer is ReadResourceResult {
  return Array.isArray(answer["contents"]);
}

function isPrompt(answer: JsonObject): answer is GetPromptResult {
  return Array.isArray(answer["messages"]);
}
