import type { InputMethod } from "../../task/input.ts";
import type { JsonObject } from "../json-object.ts";
import type { TaskSnapshot } from "../../task/snapshot.ts";
import { completeResult } from "./complete-result.ts";
import { errorOf, resultOf, wireTask, type WireError, type WireTask } from "./wire-task.ts";

/** A question to the client, as it stands in `inputRequests`. */
export interface WireInputRequest {
  readonly method: InputMethod;
  readonly params: JsonObject;
}

/** A task with what its status brings along. */
export type DetailedTask = WireTask & {
  readonly inputRequests?: Readonly<Record<string, WireInputRequest>>;
  readonly result?: JsonObject;
  readonly error?: WireError;
};

export function detailedTask(view: TaskSnapshot): DetailedTask {
  const task = wireTask(view);
  switch (task.status) {
    case "working":
    case "cancelled":
      return task;
    case "input_required":
      return { ...task, inputRequests: inputRequests(view) };
    case "completed":
      return { ...task, result: completeResult(resultOf(view)) };
    case "failed":
      return { ...task, error: errorOf(view) };
  }
}

/** Every question that is open now, and again on the next poll. */
function inputRequests({ inputs }: TaskSnapshot): Record<string, WireInputRequest> {
  // fromEntries takes any key, `__proto__` too, as a plain member
  return Object.fromEntries(
    inputs.map(({ key, method, params }) => [key, { method, params: JSON.parse(params) as JsonObject }]),
  );
}
