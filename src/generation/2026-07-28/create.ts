import type { TaskSnapshot } from "../../task/snapshot.ts";
import { wireTask, type WireTask } from "./wire-task.ts";

/** The answer to a call that became a task: flat, and the only result with this `resultType`. */
export interface CreateTaskResult extends WireTask {
  readonly resultType: "task";
}

/** A repeated call may find its task finished. The answer shows that status; the result is for `tasks/get`. */
export function createTaskResult(view: TaskSnapshot): CreateTaskResult {
  return { resultType: "task", ...wireTask(view) };
}
