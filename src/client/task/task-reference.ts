/**
 * All that is needed to find a task again: plain data, safe to write to a file as JSON. Without authentication the
 * task id is the only key to the task, so keep it like a password.
 */
export interface TaskReference {
  /** The server that holds the task: its URL, or what else `connect` names it by, see `serverName`. */
  readonly server: string;
  /** The form of the Tasks protocol that the task was made in; it is visible through no other. */
  readonly generation: string;
  readonly taskId: string;
}
