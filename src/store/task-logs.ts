import type { LineList, TaskLine } from "../task/task-line.ts";

/** A store's logs and outputs of tasks. The command `append` adds lines; they are deleted with their task. */
export interface TaskLogs {
  /** Lines of a task's list with numbers above `after`, in order, at most `limit`; none if the task does not exist. */
  read(id: string, list: LineList, after: number, limit: number): Promise<readonly TaskLine[]>;
}
