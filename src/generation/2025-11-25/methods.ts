import { HoldfastError } from "../../task/fault.ts";
import { isJsonObject } from "../json-object.ts";

/** The methods about tasks; `tasks/list` and `tasks/cancel` are there only where they are declared. */
export const taskMethods = ["tasks/get", "tasks/result", "tasks/list", "tasks/cancel"] as const;

export type TasksMethod = (typeof taskMethods)[number];

/**
 * The id in the params of a message; throws `invalid_params` and says what is wrong (C-109, C-114). It alone decides
 * which task is meant: what `_meta` relates the message to is not looked at (C-100).
 */
export function readTaskId(method: Exclude<TasksMethod, "tasks/list">, params: unknown): string {
  const taskId = isJsonObject(params) ? params["taskId"] : undefined;
  if (typeof taskId === "string" && taskId !== "") return taskId;
  throw new HoldfastError("invalid_params", `${method} needs params.taskId, a string that is not empty.`);
}
