import { cutText } from "../../../task/cut-text.ts";
import type { JsonObject } from "../../../generation/json-object.ts";
import { deleteTaskResult } from "../../../generation/sep-1686/delete.ts";
import { listResult } from "../../../generation/sep-1686/list.ts";
import { readTaskId, type TasksMethod } from "../../../generation/sep-1686/methods.ts";
import { taskResult } from "../../../generation/sep-1686/result.ts";
import {
  errorOf,
  getTaskResult,
  wireStatus,
  wireTask,
  type WireTask,
} from "../../../generation/sep-1686/wire-task.ts";
import { isUnknownTask } from "../../../task/fault.ts";
import type { TaskRecord } from "../../../task/record.ts";
import { listPage } from "../../session/receiver/list-page.ts";
import { withAnswer } from "../../session/receiver/question-tools.ts";
import type { Answer } from "../../session/receiver/received-requests.ts";
import { ownTask, type Party } from "./own-task.ts";

/** Answers a server's `tasks/*` request about its own tasks here; rejects with a `HoldfastError`. */
export async function answerAboutTask(
  method: TasksMethod,
  params: JsonObject,
  party: Party,
): Promise<Answer> {
  const { runtime, requestor, scope } = party;
  if (method === "tasks/list") {
    const { records, nextCursor } = await listPage(runtime, requestor, params, { scope });
    const tasks = await Promise.all(records.map(async (record) => listed(record, party)));
    const there = tasks.filter((task) => task !== undefined);
    return { result: { ...listResult(there, nextCursor) } };
  }
  const taskId = readTaskId(method, params);
  const id = await ownTask(party, taskId);
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

/** As `tasks/get` shows it; undefined for one that was just deleted. */
async function listed(record: TaskRecord, { runtime, requestor }: Party): Promise<WireTask | undefined> {
  if (wireStatus(record) !== "failed") return wireTask(record);
  try {
    const snapshot = await runtime.get(record.id, requestor);
    return wireTask(snapshot.task, cutText(errorOf(snapshot) ?? ""));
  } catch (error) {
    if (isUnknownTask(error)) return undefined;
    throw error;
  }
}
