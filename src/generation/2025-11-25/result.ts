import { HoldfastError } from "../../task/fault.ts";
import type { JsonRpcError } from "../../task/outcome.ts";
import type { TaskSnapshot } from "../../task/snapshot.ts";
import type { JsonObject } from "../json-object.ts";
import { withRelatedTask } from "./related-task.ts";

/** The answer to `tasks/result` on the wire. */
export type TaskResult = { readonly result: JsonObject } | { readonly error: JsonRpcError };

/**
 * The answer that the plain request would have got (C-058, C-060). A result names its task; an error is returned unchanged, since it has no
 * place for that. A cancelled task has neither and throws `invalid_params`.
 */
export function taskResult({ task, outcome }: TaskSnapshot): TaskResult {
  if (task.state === "cancelled") throw new HoldfastError("invalid_params", "Task was cancelled");
  if (outcome === null) throw new HoldfastError("internal", `Task ${task.id} has no outcome.`);
  if (outcome.kind === "error") return { error: JSON.parse(outcome.body) as JsonRpcError };
  return { result: withRelatedTask(JSON.parse(outcome.body) as JsonObject, task.wireId) };
}
