import { quote } from "shlex";
import { sanitizeLine } from "../terminal/sanitize.ts";

/** What to type to come back to a task. The server has chosen the id: no shell is to find a command in it, and no terminal. */
export function comeBackTo(taskId: string, server?: string): string {
  return `holdfast watch ${quote(sanitizeLine(taskId))}${server === undefined ? "" : ` --server ${quote(server)}`}`;
}
