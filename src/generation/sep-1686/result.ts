import { HoldfastError } from "../../task/fault.ts";
import type { JsonRpcError } from "../../task/outcome.ts";
import type { TaskSnapshot } from "../../task/snapshot.ts";
import type { JsonObject } from "../json-object.ts";
import { withRelatedTask } from "./related-task.ts";
import { wireStatus } from "./wire-task.ts";

/**
 * The answer to `tasks/result`: the result of the request, with its task (S-040). Throws `invalid_params` for a task that is not completed,
 * for any reason (S-041, S-042, S-078).
 */
export function taskResult({ task, outcome }: TaskSnapshot): JsonObject {
  const status = wireStatus(task);
  if (status !== "completed" || outcome === null) {
    throw new HoldfastError("invalid_params", `No result: the task is ${status}`);
  }
  return withRelatedTask(JSON.parse(outcome.body) as JsonObject, task.wireId);
}

/**
 * The answer to the request itself when its task has ended (S-015). A result names its task; an error has no place for that. The requestor
 * that cancelled it gets no answer; other waiting ones get this error.
 */
export function requestAnswer({
  task,
  outcome,
}: TaskSnapshot): { readonly result: JsonObject } | { readonly error: JsonRpcError } {
  if (outcome === null) return { error: { code: -32603, message: "The task was cancelled" } };
  const body: unknown = JSON.parse(outcome.body);
  if (outcome.kind === "error") return { error: body as JsonRpcError };
  return { result: withRelatedTask(body as JsonObject, task.wireId) };
}
