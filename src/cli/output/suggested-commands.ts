import { quote } from "shlex";
import { sanitizeLine } from "../terminal/sanitize.ts";

/** The command to return to a task. The id comes from the server, so it is sanitized and quoted. */
export function watchCommand(taskId: string, server?: string): string {
  return `holdfast watch ${quote(sanitizeLine(taskId))}${server === undefined ? "" : ` --server ${quote(server)}`}`;
}

/** The command to answer a task. */
export function answerCommand(taskId: string): string {
  return `holdfast answer ${quote(sanitizeLine(taskId))}`;
}
