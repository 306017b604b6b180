import { HoldfastError } from "../../task/fault.ts";
import type { InputAnswer } from "../../task/input.ts";
import type { TaskMethod } from "../../task/record.ts";
import { isJsonObject, type JsonObject } from "../json-object.ts";

/** Request types that can be answered with a task; a list, so that more can be added. */
export const taskableMethods: readonly TaskMethod[] = ["tools/call"];

/** The methods of the extension. */
export const taskMethods = ["tasks/get", "tasks/update", "tasks/cancel"] as const;

export type TasksMethod = (typeof taskMethods)[number];

/** A task request, apart from its wire form. */
export type TasksCommand =
  | { readonly type: "get"; readonly taskId: string }
  | { readonly type: "update"; readonly taskId: string; readonly answers: readonly InputAnswer[] }
  | { readonly type: "cancel"; readonly taskId: string };

/** Reads the params of a message; throws `invalid_params` with the reason. */
export function readCommand(method: TasksMethod, params: unknown): TasksCommand {
  const object = isJsonObject(params) ? params : {};
  const taskId = readTaskId(method, object);
  switch (method) {
    case "tasks/get":
      return { type: "get", taskId };
    case "tasks/update":
      return { type: "update", taskId, answers: readAnswers(object) };
    case "tasks/cancel":
      return { type: "cancel", taskId };
  }
}

function readTaskId(method: TasksMethod, { taskId }: JsonObject): string {
  if (typeof taskId === "string" && taskId !== "") return taskId;
  throw new HoldfastError("invalid_params", `${method} needs params.taskId, a string that is not empty.`);
}

/** An answer that is no object answers nothing and is ignored, like an answer to an unknown key. */
function readAnswers({ inputResponses }: JsonObject): InputAnswer[] {
  if (!isJsonObject(inputResponses)) {
    throw new HoldfastError("invalid_params", "tasks/update needs params.inputResponses, an object.");
  }
  return Object.entries(inputResponses)
    .filter(([, answer]) => isJsonObject(answer))
    .map(([key, answer]) => ({ key, value: JSON.stringify(answer) }));
}
