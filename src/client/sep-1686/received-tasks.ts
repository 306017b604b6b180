import { listResult, readTaskId } from "../../generation/message.ts";
import type { JSONRPCRequest } from "@modelcontextprotocol/client";
import {
  asksForTask,
  taskMethods,
  generation,
  readTaskParams,
  withoutTask,
  type TaskParams,
  createdNotification,
  relatedTaskOf,
  requestAnswer,
  deleteTaskResult,
  type TasksMethod,
  taskResult,
  getTaskResult,
  wireTask,
} from "../../generation/sep-1686.ts";
import { type Question, questionCall, withAnswer } from "../session/receiver/question-tools.ts";
import {
  type Answer,
  listPage,
  parentOf,
  type ReceivedTasks,
  type ReceiverParts,
  RequestWithdrawn,
  unlessDeleted,
  untilFinished,
  type Work,
} from "../session/receiver/receiver.ts";
import { HoldfastError, isUnknownTask, unknownTask } from "../../task/fault.ts";
import type { TaskSnapshot } from "../../task/record.ts";
import type { RawRequester } from "../transport/raw-requester.ts";
import { withParent } from "../../generation/extensions.ts";
import type { JsonObject } from "../../generation/message.ts";
import type { Requestor, Runtime } from "../../runtime/runtime.ts";

/** A server's questions as tasks of SEP-1686, under the server's ids: the question is answered when its task has ended. */
export class SepReceivedTasks implements ReceivedTasks {
  readonly #context: QuestionContext;

  constructor({ requester, server, shared }: ReceiverParts) {
    const { runtime } = shared;
    const requestor = { generation, principal: server };
    this.#context = { runtime, requestor, scope: server, requester, server };
  }

  aboutTask({ method, params = {} }: JSONRPCRequest): Work | undefined {
    const about = taskMethods.find((known) => known === method);
    return about && (async () => answerTasksRequest(about, params, this.#context));
  }

  question(question: Question): Work | undefined {
    if (!asksForTask(question.params)) return undefined;
    return async (signal) => runQuestionAsTask(this.#context, question, signal);
  }
}

export interface QuestionContext extends RequestorContext {
  readonly requester: RawRequester;
  /** This client's name for the server. */
  readonly server: string;
}

/**
 * Creates the task of a question, announces it, and answers the request when the task has ended (S-011 to S-015).
 *
 * The end of the connection does not affect the task; the server's cancellation cancels it (S-063). Rejects with
 * `wire_id_taken` for an id that is in use (A-19), with the errors of `create`, and with the signal's reason.
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
    if (!isUnknownTask(error)) throw error;
  }
}

/** Answers a server's `tasks/*` request about its tasks in this client. Rejects with a `HoldfastError`. */
export async function answerTasksRequest(
  method: TasksMethod,
  params: JsonObject,
  context: RequestorContext,
): Promise<Answer> {
  const { runtime, requestor, scope } = context;
  if (method === "tasks/list") {
    const { records, nextCursor } = await listPage(runtime, requestor, params, { scope });
    const tasks = await unlessDeleted(records, async (record) =>
      withParent(wireTask(record), await parentOf(context, record)),
    );
    return { result: { ...listResult(tasks, nextCursor) } };
  }
  const taskId = readTaskId(method, params);
  const id = await findTaskId(context, taskId);
  switch (method) {
    case "tasks/get": {
      const snapshot = await runtime.get(id, requestor);
      const parent = await parentOf(context, snapshot.task);
      return { result: { ...withParent(getTaskResult(snapshot), parent) } };
    }
    case "tasks/result": {
      const snapshot = await runtime.get(id, requestor);
      const result = taskResult(withAnswer(snapshot));
      runtime.retrieved(snapshot.task, method);
      return { result };
    }
    case "tasks/delete":
      return { result: { ...deleteTaskResult(taskId, await runtime.delete(id, requestor)) } };
  }
}

/** A server with tasks in this client, and the runtime that runs them. */
export interface RequestorContext {
  readonly runtime: Runtime;
  readonly requestor: Requestor;
  /** The scope of its task ids: this client's name for the server, instead of a principal (A-43). */
  readonly scope: string;
}

/**
 * The internal id for the server's task id. Rejects with `unknown_task`, also for another server's task (S-075,
 * S-087).
 */
export async function findTaskId({ runtime, scope }: RequestorContext, wireId: string): Promise<string> {
  const id = await runtime.find({ generation, scope, wireId });
  if (id === undefined) throw unknownTask();
  return id;
}
