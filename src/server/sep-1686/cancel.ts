import type { JsonObject } from "../../generation/json-object.ts";
import { relatedTaskOf } from "../../generation/sep-1686/related-task.ts";
import { isUnknownTask } from "../../task/fault.ts";
import { cancelIfRunning } from "./answer-as-task.ts";
import { ownTask, type Party } from "./party.ts";

/**
 * Cancels the task whose request `notifications/cancelled` names, also where that came on an earlier connection, of an
 * earlier process too: then related-task says which task is meant, and the id of its request has to fit (S-061, S-063).
 */
export async function cancelNamed(cancelled: JsonObject, party: Party): Promise<void> {
  const taskId = relatedTaskOf(cancelled);
  if (taskId === undefined) return; // what is in flight here is told by its own signal
  try {
    const id = await ownTask(party, taskId);
    const { requestId } = await party.runtime.originOf(id, party.requestor);
    if (requestId === cancelled["requestId"]) await cancelIfRunning(party, id);
  } catch (error) {
    if (!isUnknownTask(error)) throw error;
  }
}
