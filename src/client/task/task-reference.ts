/**
 * Everything needed to find a task again: plain data, safe to write to a file as JSON. Without authentication the task id is the only key
 * to the task, so keep it like a password.
 */
export interface TaskReference {
  /** The server that holds the task: its URL without the values of its query, or another name from `connect`; see `serverName`. */
  readonly server: string;
  /** The form of the Tasks protocol that created the task. Others cannot see it. */
  readonly generation: string;
  readonly taskId: string;
}
