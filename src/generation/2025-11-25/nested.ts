import type { InputMethod } from "../../task/input.ts";
import type { JsonObject } from "../json-object.ts";
import { withRelatedTask } from "./related-task.ts";

/**
 * A question of a task, which names the task (C-092, C-099). It becomes a task on the client only if `task` is given, whatever its author
 * wrote: the caller must know first that the client accepts it (C-007).
 */
export function nestedRequest(
  method: InputMethod,
  params: JsonObject,
  taskId: string,
  task?: { readonly ttl?: number },
): { readonly method: InputMethod; readonly params: JsonObject } {
  const { task: _unasked, ...own } = params;
  const augmented = task === undefined ? own : { ...own, task };
  return { method, params: withRelatedTask(augmented, taskId) };
}
