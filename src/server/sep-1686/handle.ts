import { deleteTaskResult } from "../../generation/sep-1686/delete.ts";
import { cutText } from "../../task/cut-text.ts";
import { listResult } from "../../generation/sep-1686/list.ts";
import { readTaskId, type TasksMethod } from "../../generation/sep-1686/methods.ts";
import { taskResult } from "../../generation/sep-1686/result.ts";
import {
  errorOf,
  getTaskResult,
  wireStatus,
  wireTask,
  type WireTask,
} from "../../generation/sep-1686/wire-task.ts";
import type { Answer } from "../answer.ts";
import { listPage, type Listing } from "../list-page.ts";
import type { ToolRequest } from "../tool-request.ts";
import { ownTask, type Party } from "./party.ts";

/** Answers a `tasks/*` request; rejects with a `HoldfastError`. */
export async function handle(
  method: TasksMethod,
  { params, access }: Pick<ToolRequest, "params" | "access">,
  party: Party,
): Promise<Answer> {
  const { runtime, scope, cancels } = party;
  const requestor = { ...party.requestor, scopes: access?.scopes };
  await Promise.allSettled(cancels);
  if (method === "tasks/list") {
    const { tasks, nextCursor } = await listPage(runtime, requestor, params, listing, { scope });
    return { result: { ...listResult(tasks, nextCursor) } };
  }
  const taskId = readTaskId(method, params);
  const id = await ownTask(party, taskId);
  switch (method) {
    case "tasks/get": {
      const snapshot = await runtime.get(id, requestor);
      party.rates.advertised(taskId, requestor.principal, snapshot.task.pollIntervalMs);
      party.desk.polled(snapshot, requestor, party.connection);
      return { result: { ...getTaskResult(snapshot) } };
    }
    case "tasks/result":
      return { result: taskResult(await runtime.get(id, requestor)) };
    case "tasks/delete":
      await runtime.delete(id, requestor);
      return { result: { ...deleteTaskResult(taskId) } };
  }
}

/** As `tasks/get` shows it, but for the end of an error that is too long for a list. */
const listing: Listing<WireTask> = {
  short: (task) => (wireStatus(task) === "failed" ? undefined : wireTask(task)),
  whole: (snapshot) => wireTask(snapshot.task, cutText(errorOf(snapshot) ?? "")),
};
