import { HoldfastError } from "../../task/fault.ts";
import type { JsonRpcError } from "../../task/outcome.ts";
import type { TaskSnapshot } from "../../task/snapshot.ts";
import type { JsonObject } from "../json-object.ts";
import { withRelatedTask } from "./related-task.ts";
import { wireStatus } from "./wire-task.ts";

/**
 * What `tasks/result` answers: the result of the request, with the task that it is of (S-040). Throws `invalid_params` for
 * a task that is not completed, whatever else became of it (S-041, S-042, S-078).
 */
export function taskResult({ task, outcome }: TaskSnapshot): JsonObject {
  const status = wireStatus(task);
  if (status !== "completed" || outcome === null) {
    throw new HoldfastError("invalid_params", `No result: the task is ${status}`);
  }
  return withRelatedTask(JSON.parse(outcome.body) as JsonObject, task.wireId);
}

/**
 * What the request itself is answered with when its task has ended (S-015). A result says which task it is of; an error has
 * no place to say so. Who cancelled it hears nothing; whoever else waits hears that.
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
