import type { Progress } from "../../task/record.ts";
import type { LogText } from "../../task/task-line.ts";
import type { JsonObject } from "../json-object.ts";
import { logMessage } from "../log-message.ts";
import { relatedTask, withRelatedTask } from "./related-task.ts";

export const createdMethod = "notifications/tasks/created";

/** A message that wants no answer. */
export interface WireNotification {
  readonly method: string;
  readonly params: JsonObject;
}

/** A task is there, and can be asked for from now on: nothing but which one (S-011, S-012). */
export function createdNotification(taskId: string): WireNotification {
  return { method: createdMethod, params: { _meta: relatedTask(taskId) } };
}

/** Progress of a request that is a task, under its token, until it is answered (S-061, S-099). */
export function progressNotification(
  progressToken: string | number,
  progress: Progress,
  taskId: string,
): WireNotification {
  return {
    method: "notifications/progress",
    params: withRelatedTask({ progressToken, ...progress }, taskId),
  };
}

/** A line of the task's log, which names the task (S-060). */
export function logNotification(tool: string, line: LogText, taskId: string): WireNotification {
  const { method, params } = logMessage(tool, line);
  return { method, params: withRelatedTask(params, taskId) };
}
