import type { Progress } from "../../task/record.ts";
import type { LogText } from "../../task/task-line.ts";
import type { TaskLines } from "../journal/task-lines.ts";

/** Hears at once what a handler tells its caller while there is no task; what it throws is lost. What nobody hears goes nowhere. */
export interface CallListener {
  /** Hears each report of progress. */
  readonly progress?: (report: Progress) => void;
  /** Hears each line of the log, and none again that a step repeats. */
  readonly log?: (line: LogText) => void;
}

/** The handler only tells how far it is: that nobody can hear it is not its fault. */
export function report({ progress }: CallListener, reported: Progress): void {
  try {
    progress?.(reported);
  } catch {
    // As said.
  }
}

/** Appends a line, as `TaskLines` does. */
export function appendHeard(
  { log }: CallListener,
  lines: TaskLines,
  ...[source, list, at, body]: Parameters<TaskLines["append"]>
): Promise<void> {
  const last = lines.lastOf("log");
  const appended = lines.append(source, list, at, body);
  try {
    if (lines.lastOf("log") > last) log?.(JSON.parse(body) as LogText);
  } catch {
    // As of progress.
  }
  return appended;
}
