import { isAtLeast } from "../../generation/message.ts";
import { cutText } from "../../task/stored-text.ts";
import type { Progress, TaskRecord } from "../../task/record.ts";
import type { LogLine } from "./log-lines.ts";

/** Maximum text of a line shown with progress, in code points. */
const mostText = 500;

/** Lines before the handler's first report are progress, too: each counts a thousandth, so that reports are mostly further. */
const lineShare = 1_000;

/** The newest line whose text is shown with progress: debug lines are not. */
export function newestShown(lines: readonly LogLine[]): LogLine | undefined {
  return lines.findLast((line) => isAtLeast("info", line));
}

/**
 * The progress that a client sees: the handler's report, with the newest line of its log if the report has no message; before the first
 * report, the line alone. Undefined if there is neither.
 */
export function shownProgress(own: Progress | null, line: LogLine | undefined): Progress | undefined {
  if (line === undefined) return own ?? undefined;
  const message = cutText(line.text, mostText);
  return own === null ? { progress: line.seq / lineShare, message } : { message, ...own };
}

/** What clients may have seen of a task before, so that they get what is newer. Undefined if that is unknown. */
export function sentProgress({ progress, logged }: TaskRecord): number | undefined {
  return progress !== null || logged === 0 ? undefined : logged / lineShare;
}
