import { HoldfastError } from "../../task/fault.ts";
import { isJsonObject } from "../json-object.ts";

/** The methods about tasks. There is none to cancel one: that is `notifications/cancelled` of its request (S-063). */
export const taskMethods = ["tasks/get", "tasks/result", "tasks/list", "tasks/delete"] as const;

export type TasksMethod = (typeof taskMethods)[number];

/** The id in the params of a message; throws `invalid_params` and says what is wrong (S-075, S-080). */
export function readTaskId(method: Exclude<TasksMethod, "tasks/list">, params: unknown): string {
  const taskId = isJsonObject(params) ? params["taskId"] : undefined;
  if (typeof taskId === "string" && taskId !== "") return taskId;
  throw new HoldfastError("invalid_params", `${method} needs params.taskId, a string that is not empty.`);
}
