import { quote } from "shlex";

/** What to type to come back to a task. The server has chosen the id: no shell is to find a command in it. */
export function comeBackTo(taskId: string, server?: string): string {
  return `holdfast watch ${quote(taskId)}${server === undefined ? "" : ` --server ${quote(server)}`}`;
}
