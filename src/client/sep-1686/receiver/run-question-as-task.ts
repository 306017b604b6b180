import {
  readTaskParams,
  withoutTask,
  type TaskParams,
  createdNotification,
  relatedTaskOf,
  requestAnswer,
} from "../../../generation/sep-1686.ts";
import { HoldfastError, isUnknownTask } from "../../../task/fault.ts";
import type { TaskSnapshot } from "../../../task/record.ts";
import { untilFinished } from "../../session/receiver/runtime-queries.ts";
import { questionCall, withAnswer, type Question } from "../../session/receiver/question-tools.ts";
import { RequestWithdrawn, type Answer } from "../../session/receiver/received-requests.ts";
import type { RawRequester } from "../../transport/raw-requester.ts";
import type { RequestorContext } from "./tasks-requests.ts";

export interface QuestionContext extends RequestorContext {
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
  question: Question,
  signal: AbortSignal,
): Promise<Answer> {
  const { runtime, requestor, requester } = context;
  const taskParams = readTaskParams(question.params);
  if (taskParams === undefined) throw new HoldfastError("internal", "The question asks for no task.");
  const { task } = await create(context, question, taskParams);
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
  question: Question,
  { taskId: wireId, keepAliveMs }: TaskParams,
): Promise<TaskSnapshot> {
  const own = withoutTask(question.params);
  return runtime.create({
    ...requestor,
    scope,
    wireId,
    ...questionCall(server, question, own, relatedTaskOf(own)),
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
