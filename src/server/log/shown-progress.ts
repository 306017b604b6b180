import { isAtLeast } from "../../generation/log-message.ts";
import { cutText } from "../../task/cut-text.ts";
import type { Progress, TaskRecord } from "../../task/record.ts";
import type { LogLine } from "./log-lines.ts";

/** How much of a line is shown beside progress, in code points. */
const mostText = 500;

/** Lines before the handler's first report are progress, too: each counts a thousandth, so that reports are mostly further. */
const lineShare = 1_000;

/** The newest of the lines whose text goes with progress: those that are not for debugging. */
export function newestShown(lines: readonly LogLine[]): LogLine | undefined {
  return lines.findLast((line) => isAtLeast("info", line));
}

/**
 * How far a handler is, as its client hears it: what it reported, with the newest line of its log where it said nothing itself; as long as it has
 * reported nothing, the line alone. Undefined where there is neither.
 */
export function shownProgress(own: Progress | null, line: LogLine | undefined): Progress | undefined {
  if (line === undefined) return own ?? undefined;
  const message = cutText(line.text, mostText);
  return own === null ? { progress: line.seq / lineShare, message } : { message, ...own };
}

/** What clients may have heard of a task before: they hear what is further. Undefined where that says nothing. */
export function heardProgress({ progress, logged }: TaskRecord): number | undefined {
  return progress !== null || logged === 0 ? undefined : logged / lineShare;
}
