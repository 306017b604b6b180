import type { Progress } from "../../task/record.ts";
import type { LogText } from "../../task/task-line.ts";
import type { JsonObject } from "../json-object.ts";
import { logMessage } from "../log-message.ts";
import { withRelatedTask } from "./related-task.ts";
import type { WireTask } from "./wire-task.ts";

/** A message without a response. */
export interface WireNotification {
  readonly jsonrpc: "2.0";
  readonly method: string;
  readonly params: JsonObject;
}

/** A changed task, in full and flat as in `tasks/get` (C-066); its own id is enough to relate it (C-069). */
export function statusNotification(task: WireTask): WireNotification {
  return { jsonrpc: "2.0", method: "notifications/tasks/status", params: { ...task } };
}

/** Progress of a running task, under the progress token of the request that created it (C-106, C-098). */
export function progressNotification(
  progressToken: string | number,
  progress: Progress,
  taskId: string,
): WireNotification {
  const params = withRelatedTask({ progressToken, ...progress }, taskId);
  return { jsonrpc: "2.0", method: "notifications/progress", params };
}

/** A log line of a task, with the task's id (C-097). */
export function logNotification(tool: string, line: LogText, taskId: string): WireNotification {
  const { method, params } = logMessage(tool, line);
  return { jsonrpc: "2.0", method, params: withRelatedTask(params, taskId) };
}
