import type { JSONRPCRequest } from "@modelcontextprotocol/client";
import { readTaskParams, withoutTask, type TaskParams } from "../../../generation/sep-1686/create.ts";
import { createdNotification } from "../../../generation/sep-1686/notify.ts";
import { relatedTaskOf } from "../../../generation/sep-1686/related-task.ts";
import { requestAnswer } from "../../../generation/sep-1686/result.ts";
import { HoldfastError, isUnknownTask } from "../../../task/fault.ts";
import type { TaskSnapshot } from "../../../task/snapshot.ts";
import { untilFinished } from "../../session/receiver/runtime-queries.ts";
import { withAnswer, type AskedQuestion } from "../../session/receiver/question-tools.ts";
import { traceOf, withoutTrace } from "../../trace-in-params.ts";
import { RequestWithdrawn, type Answer } from "../../session/receiver/received-requests.ts";
import type { RawRequester } from "../../transport/raw-requester.ts";
import type { RequestorContext } from "./tasks-requests.ts";

interface QuestionContext extends RequestorContext {
  readonly requester: RawRequester;
  /** This client's name for the server. */
  readonly server: string;
}

/**
 * Creates the task of a question, announces it, and answers the request when the task has ended (S-011 to S-015).
 *
 * The end of the connection does not affect the task; the server's cancellation cancels it (S-063). Rejects with
 * `wire_id_taken` for an id that is in use, with the errors of `create`, and with the signal's reason.
 */
export async function runQuestionAsTask(
  context: QuestionContext,
  request: JSONRPCRequest,
  signal: AbortSignal,
): Promise<Answer> {
  const { runtime, requestor, requester } = context;
  const taskParams = readTaskParams(request.params);
  if (taskParams === undefined) throw new HoldfastError("internal", "The question asks for no task.");
  const { task } = await create(context, request, taskParams);
  const { method, params } = createdNotification(task.wireId);
  await requester.sendOnce({ jsonrpc: "2.0", method, params });
  try {
    return requestAnswer(withAnswer(await untilFinished(runtime, requestor, task.id, signal)));
  } catch (error) {
    if (signal.reason instanceof RequestWithdrawn) await cancelIfRunning(context, task.id);
    throw error;
  }
}

async function create(
  { runtime, requestor, scope, server }: QuestionContext,
  { id, method, params = {} }: JSONRPCRequest,
  { taskId: wireId, keepAliveMs }: TaskParams,
): Promise<TaskSnapshot> {
  const question: AskedQuestion = {
    server,
    params: withoutTrace(withoutTask(params)),
    taskId: relatedTaskOf(params) ?? null,
  };
  const trace = traceOf(params);
  return runtime.create({
    ...requestor,
    scope,
    wireId,
    tool: method,
    arguments: question,
    origin: { requestId: id, capabilities: {}, ...(trace !== undefined && { trace }) },
    keepAlive: true,
    queued: true,
    ...(keepAliveMs !== undefined && { ttlMs: keepAliveMs }),
  });
}

/** Cancelling an ended task does nothing (S-066). */
async function cancelIfRunning({ runtime, requestor }: RequestorContext, id: string): Promise<void> {
  try {
    await runtime.cancelNow(id, requestor);
  } catch (error) {
    const ended = error instanceof HoldfastError && error.code === "finished";
    if (!ended && !isUnknownTask(error)) throw error;
  }
}
