import { cutText } from "../../../task/stored-text.ts";
import type { JsonObject } from "../../../generation/message.ts";
import {
  deleteTaskResult,
  listResult,
  readTaskId,
  type TasksMethod,
  taskResult,
  errorOf,
  getTaskResult,
  wireStatus,
  wireTask,
  type WireTask,
  generation,
} from "../../../generation/sep-1686.ts";
import { isUnknownTask, unknownTask } from "../../../task/fault.ts";
import type { TaskRecord } from "../../../task/record.ts";
import { listPage } from "../../session/receiver/runtime-queries.ts";
import { withAnswer } from "../../session/receiver/question-tools.ts";
import type { Answer } from "../../session/receiver/received-requests.ts";
import type { Requestor, Runtime } from "../../../runtime/runtime.ts";

/** Answers a server's `tasks/*` request about its tasks in this client. Rejects with a `HoldfastError`. */
export async function answerTasksRequest(
  method: TasksMethod,
  params: JsonObject,
  context: RequestorContext,
): Promise<Answer> {
  const { runtime, requestor, scope } = context;
  if (method === "tasks/list") {
    const { records, nextCursor } = await listPage(runtime, requestor, params, { scope });
    const tasks = await Promise.all(records.map(async (record) => listed(record, context)));
    const there = tasks.filter((task) => task !== undefined);
    return { result: { ...listResult(there, nextCursor) } };
  }
  const taskId = readTaskId(method, params);
  const id = await findTaskId(context, taskId);
  switch (method) {
    case "tasks/get":
      return { result: { ...getTaskResult(await runtime.get(id, requestor)) } };
    case "tasks/result":
      return { result: taskResult(withAnswer(await runtime.get(id, requestor))) };
    case "tasks/delete":
      await runtime.delete(id, requestor);
      return { result: { ...deleteTaskResult(taskId) } };
  }
}

/** A task for a list, as in `tasks/get`; undefined if it was just deleted. */
async function listed(
  record: TaskRecord,
  { runtime, requestor }: RequestorContext,
): Promise<WireTask | undefined> {
  if (wireStatus(record) !== "failed") return wireTask(record);
  try {
    const snapshot = await runtime.get(record.id, requestor);
    return wireTask(snapshot.task, cutText(errorOf(snapshot) ?? ""));
  } catch (error) {
    if (isUnknownTask(error)) return undefined;
    throw error;
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
