import type { LineList, TaskLine } from "../task/task-line.ts";

/** What a store keeps of the logs and outputs of tasks. Lines are appended by the command `append`, and go with their task. */
export interface TaskLogs {
  /** The lines of a task's list with numbers above `after`, in their order, at most `limit`; none for a task that is not there. */
  read(id: string, list: LineList, after: number, limit: number): Promise<readonly TaskLine[]>;
}
