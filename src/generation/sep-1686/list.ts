import type { WireTask } from "./wire-task.ts";

/** A page of tasks. It belongs to no task, so it names none (S-045, A-20). */
export interface ListTasksResult {
  readonly tasks: readonly WireTask[];
  readonly nextCursor?: string;
}

export function listResult(tasks: readonly WireTask[], nextCursor?: string): ListTasksResult {
  return { tasks, ...(nextCursor === undefined ? {} : { nextCursor }) };
}
