import { HoldfastError } from "../../task/fault.ts";
import { isJsonObject } from "../json-object.ts";

/** The task methods. None cancels a task: `notifications/cancelled` for its request does (S-063). */
export const taskMethods = ["tasks/get", "tasks/result", "tasks/list", "tasks/delete"] as const;

export type TasksMethod = (typeof taskMethods)[number];

/** The id in the params of a message; throws `invalid_params` with the reason (S-075, S-080). */
export function readTaskId(method: Exclude<TasksMethod, "tasks/list">, params: unknown): string {
  const taskId = isJsonObject(params) ? params["taskId"] : undefined;
  if (typeof taskId === "string" && taskId !== "") return taskId;
  throw new HoldfastError("invalid_params", `${method} needs params.taskId, a string that is not empty.`);
}
