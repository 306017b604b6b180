import type { JsonObject } from "../../generation/message.ts";
import { readTaskParams, createdNotification, requestAnswer } from "../../generation/sep-1686.ts";
import type { TaskCall } from "../../runtime/runtime.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { TaskSnapshot } from "../../task/record.ts";
import type { Tool } from "../../runtime/tool/tool.ts";
import { validateArguments } from "../../runtime/tool/tool-outcome.ts";
import { answerOf, type Answer } from "../answer.ts";
import { refusedAsTask } from "../plain/capabilities.ts";
import { receivedBy } from "../received.ts";
import { type ToolRequest, originOf, progressTokenOf } from "../request.ts";
import { cancelTask, type SepSession } from "./sep-session.ts";

/** What runs as the task. */
type TaskWork = Pick<
  TaskCall,
  "id" | "method" | "tool" | "arguments" | "requiredScopes" | "prepareInTask" | "received"
>;

/** Throws the fault of a call that asks for a task, before its arguments are validated. */
export function refuseCall(params: JsonObject, tool: Tool, capabilities: JsonObject): void {
  readTaskParams(params);
  const refusal = refusedAsTask(tool, capabilities);
  if (refusal !== undefined) throw refusal;
}

/** Answers a call that asks for a task with the outcome of the task; rejects as `answerAsTask` does. */
export async function callTool(tool: Tool, request: ToolRequest, session: SepSession): Promise<Answer> {
  const args = request.params["arguments"];
  const validated = await validateArguments(tool, args);
  if (!validated.ok) return answerOf(validated.outcome);
  const requiredScopes = request.access?.neededFor(tool.name) ?? [];
  const prepares = tool.prepare === undefined ? {} : { prepareInTask: true as const };
  const received = receivedBy(tool, request);
  const work = { tool: tool.name, arguments: args, requiredScopes, received, ...prepares };
  return answerAsTask(work, request, session);
}

/**
 * Creates the task that a request asks for, announces it, and answers with its outcome when it has ended, as if there were no task (S-011
 * to S-015). If the client disconnects, the task continues; if it cancels the request, the task is cancelled (S-063). Rejects with
 * `wire_id_taken` for an id that is in use, as `create` does, and with the reason of the signal.
 */
export async function answerAsTask(
  work: TaskWork,
  request: ToolRequest,
  session: SepSession,
): Promise<Answer> {
  const { id, params, signal, auth, trace } = request;
  const { runtime, connection, requestor, scope } = session;
  const asked = readTaskParams(params);
  if (asked === undefined) throw new HoldfastError("internal", "The request asks for no task.");
  signal.throwIfAborted(); // before there is a task
  const origin = originOf(request, connection.capabilities, runtime.registry, connection.streams.sessionKey);
  const created = await runtime.create({
    ...requestor,
    ...work,
    scope,
    wireId: asked.taskId,
    origin,
    credentials: auth?.credentials,
    keepAlive: true,
    queued: true,
    ...(asked.keepAliveMs === undefined ? {} : { ttlMs: asked.keepAliveMs }),
  });
  const announcement = createdNotification(asked.taskId);
  await connection.deliver(announcement.method, announcement.params, id);
  return answerAtEnd(created, { id, params, signal, trace }, session);
}

/** Answers a request with the outcome of its task when that has ended; rejects with the reason of the signal. */
export async function answerAtEnd(
  created: TaskSnapshot,
  { id, params, signal, trace }: ToolRequest,
  session: SepSession,
): Promise<Answer> {
  trace?.about(created.task.id);
  const { subscriptions, connection, requestor } = session;
  const progressToken = progressTokenOf(params);
  const failed = new AbortController();
  // After a cancel, wait on until the task has ended: else its questions would be asked again on another stream.
  const onAbort = (): void => {
    if (connection.closing.aborted) return;
    cancelTask(session, created.task.id).catch((error: unknown) => failed.abort(error));
  };
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    if (signal.aborted) onAbort();
    // If the stream of the request breaks, questions use another one of the connection.
    else subscriptions.follow(created, requestor, { connection, progressToken: undefined });
    const over = AbortSignal.any([connection.closing, connection.lost(id, signal), failed.signal]);
    const wait = { connection, request: id, signal: over, progressToken };
    const finished = await subscriptions.finished(created.task.id, requestor, wait);
    signal.throwIfAborted();
    return requestAnswer(finished);
  } catch (error) {
    if (!failed.signal.aborted) signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
