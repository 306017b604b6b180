import type { JsonObject } from "../json-object.ts";
import { relatedTaskIn, withMeta, type RelatedTask } from "../meta.ts";

/** The key in `_meta` that names the task a message belongs to (C-097). */
export const relatedTaskKey = "io.modelcontextprotocol/related-task";

/** The entry of `_meta`. */
export function relatedTask(taskId: string): { readonly [relatedTaskKey]: RelatedTask } {
  return { [relatedTaskKey]: { taskId } };
}

/** A result or params that belong to a task. All members stay unchanged; this task replaces any other. */
export function withRelatedTask(object: JsonObject, taskId: string): JsonObject {
  return withMeta(object, relatedTask(taskId));
}

/** The id of the task that params or a result belong to, if they name one. */
export function relatedTaskOf(object: unknown): string | undefined {
  return relatedTaskIn(object, relatedTaskKey);
}
