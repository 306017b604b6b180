import type { WireTask } from "./wire-task.ts";

/** A page of tasks (C-071). */
export interface ListTasksResult {
  readonly tasks: readonly WireTask[];
  readonly nextCursor?: string;
}

export function listResult(tasks: readonly WireTask[], nextCursor?: string): ListTasksResult {
  return { tasks, ...(nextCursor === undefined ? {} : { nextCursor }) };
}
