import { HoldfastError } from "../../task/fault.ts";
import { isJsonObject } from "../json-object.ts";

/** The task methods. A server has `tasks/list` and `tasks/cancel` only if it declares them. */
export const taskMethods = ["tasks/get", "tasks/result", "tasks/list", "tasks/cancel"] as const;

export type TasksMethod = (typeof taskMethods)[number];

/**
 * The id in the params of a message; throws `invalid_params` with the reason (C-109, C-114). Only this id selects the task: the related
 * task in `_meta` is ignored (C-100).
 */
export function readTaskId(method: Exclude<TasksMethod, "tasks/list">, params: unknown): string {
  const taskId = isJsonObject(params) ? params["taskId"] : undefined;
  if (typeof taskId === "string" && taskId !== "") return taskId;
  throw new HoldfastError("invalid_params", `${method} needs params.taskId, a string that is not empty.`);
}
