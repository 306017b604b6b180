import { quote } from "shlex";
import { sanitizeLine } from "./sanitize.ts";

/** What to type to answer a task. The server has chosen the id: no shell is to find a command in it. */
export function toAnswer(taskId: string): string {
  return `holdfast answer ${quote(sanitizeLine(taskId))}`;
}
