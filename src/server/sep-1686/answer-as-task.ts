import { readTaskParams } from "../../generation/sep-1686/create.ts";
import { createdNotification } from "../../generation/sep-1686/notify.ts";
import { requestAnswer } from "../../generation/sep-1686/result.ts";
import { metaOf } from "../../generation/meta.ts";
import type { TaskCall } from "../../runtime/runtime.ts";
import { HoldfastError, isUnknownTask } from "../../task/fault.ts";
import type { Answer } from "../answer.ts";
import { originOf, type ToolRequest } from "../tool-request.ts";
import { cancelling, type Party } from "./party.ts";

/** What runs as the task, whoever asked for it. */
export type TaskWork = Pick<
  TaskCall,
  "id" | "method" | "tool" | "arguments" | "requiredScopes" | "prepareInTask"
>;

/**
 * Makes a task of a request that asks for one, says so, and answers when it has ended, as if it were none (S-011 to S-015).
 * A client that goes away leaves its task alone; one that cancels the request cancels it (S-063). Rejects with
 * `wire_id_taken` for an id that is in use, with what `create` rejects with, and with the signal's reason.
 */
export async function answerAsTask(
  work: TaskWork,
  { id, params, signal }: ToolRequest,
  party: Party,
): Promise<Answer> {
  const { runtime, desk, connection, requestor, scope } = party;
  const asked = readTaskParams(params);
  if (asked === undefined) throw new HoldfastError("internal", "The request asks for no task.");
  const meta = metaOf(params);
  signal.throwIfAborted(); // nothing was promised yet, so nothing is begun
  const origin = originOf(id, meta, connection.capabilities);
  const { sessionId } = connection.streams;
  const created = await runtime.create({
    ...requestor,
    ...work,
    scope,
    wireId: asked.taskId,
    origin: sessionId === undefined ? origin : { ...origin, session: sessionId },
    keepAlive: true,
    queued: true,
    ...(asked.keepAliveMs === undefined ? {} : { ttlMs: asked.keepAliveMs }),
  });
  const { method, params: told } = createdNotification(asked.taskId);
  await connection.deliver(method, told, id);
  const { progressToken } = origin;
  const failed = new AbortController();
  // The wait goes on until the task has ended: a question that lost its stream before would be put to the client again.
  const onAbort = (): void => {
    if (connection.closing.aborted) return;
    const cancelled = cancelling(party, cancelIfRunning(party, created.task.id));
    cancelled.catch((error: unknown) => failed.abort(error));
  };
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    if (signal.aborted) onAbort();
    // Where the stream of the request breaks, another one of the connection does.
    else desk.follow(created, requestor, { connection, progressToken: undefined });
    const over = AbortSignal.any([connection.closing, connection.lost(id, signal), failed.signal]);
    const wait = { connection, request: id, signal: over, progressToken };
    const finished = await desk.finished(created.task.id, requestor, wait);
    signal.throwIfAborted();
    return requestAnswer(finished);
  } catch (error) {
    if (!failed.signal.aborted) signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** A cancel of what has ended is ignored (S-066). */
export async function cancelIfRunning({ runtime, requestor }: Party, id: string): Promise<void> {
  try {
    await runtime.cancelNow(id, requestor);
  } catch (error) {
    const ended = error instanceof HoldfastError && error.code === "finished";
    if (!ended && !isUnknownTask(error)) throw error;
  }
}
