import type { Progress } from "../../task/record.ts";
import type { LogText } from "../../task/task-line.ts";
import type { JsonObject } from "../json-object.ts";
import { logMessage } from "../log-message.ts";
import { relatedTask, withRelatedTask } from "./related-task.ts";

export const createdMethod = "notifications/tasks/created";

/** A message without a response. */
export interface WireNotification {
  readonly method: string;
  readonly params: JsonObject;
}

/** The task exists and can be requested from now on; contains only its id (S-011, S-012). */
export function createdNotification(taskId: string): WireNotification {
  return { method: createdMethod, params: { _meta: relatedTask(taskId) } };
}

/** Progress of a request that is a task, under its progress token, until it is answered (S-061, S-099). */
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

/** A log line of a task, with the task's id (S-060). */
export function logNotification(tool: string, line: LogText, taskId: string): WireNotification {
  const { method, params } = logMessage(tool, line);
  return { method, params: withRelatedTask(params, taskId) };
}
