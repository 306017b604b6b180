import { quoteWord } from "../arguments/shell-words.ts";
import { sanitizeLine } from "../terminal/sanitize.ts";

/** The command to return to a task. The id comes from the server, so it is sanitized and quoted. */
export function watchCommand(taskId: string, server?: string): string {
  return `holdfast watch ${quoteWord(sanitizeLine(taskId))}${server === undefined ? "" : ` --server ${quoteWord(server)}`}`;
}

/** The command to answer a task. */
export function answerCommand(taskId: string): string {
  return `holdfast answer ${quoteWord(sanitizeLine(taskId))}`;
}
