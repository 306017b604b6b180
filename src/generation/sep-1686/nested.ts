import type { InputMethod } from "../../task/input.ts";
import type { JsonObject } from "../json-object.ts";
import { withoutTask, withTask, type TaskParams } from "./create.ts";
import { withRelatedTask } from "./related-task.ts";

/**
 * A question of a task, which names the task (S-057, S-062). It asks for a task on the client only if `task` is given, whatever its author
 * wrote.
 */
export function nestedRequest(
  method: InputMethod,
  params: JsonObject,
  taskId: string,
  task?: TaskParams,
): { readonly method: InputMethod; readonly params: JsonObject } {
  const own = withoutTask(params);
  return { method, params: withRelatedTask(task === undefined ? own : withTask(own, task), taskId) };
}
