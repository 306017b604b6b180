import type { InputMethod } from "../../task/input.ts";
import type { JsonObject } from "../json-object.ts";
import { withoutTask, withTask, type TaskParams } from "./create.ts";
import { withRelatedTask } from "./related-task.ts";

/** A request to the client on behalf of a task. */
export interface NestedRequest {
  readonly method: InputMethod;
  readonly params: JsonObject;
}

/**
 * A question of a task: it says whose it is (S-057, S-062). It asks for a task on the client only where `task` is given,
 * whatever its author wrote there.
 */
export function nestedRequest(
  method: InputMethod,
  params: JsonObject,
  taskId: string,
  task?: TaskParams,
): NestedRequest {
  const own = withoutTask(params);
  return { method, params: withRelatedTask(task === undefined ? own : withTask(own, task), taskId) };
}
