import type { RelatedTask } from "../meta.ts";
import { relatedTask, type relatedTaskKey } from "./related-task.ts";

/** The answer to `tasks/delete`, empty except for its task (S-051). */
export interface DeleteTaskResult {
  readonly _meta: { readonly [relatedTaskKey]: RelatedTask };
}

export function deleteTaskResult(taskId: string): DeleteTaskResult {
  return { _meta: relatedTask(taskId) };
}
