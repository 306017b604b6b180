import type { Progress } from "../../task/record.ts";
import type { LogText } from "../../task/task-line.ts";
import type { TaskLines } from "../journal/task-lines.ts";

/**
 * Receives at once what a handler reports while there is no task. Errors that it throws are ignored. Without a listener, reports are
 * dropped.
 */
export interface CallListener {
  /** Receives each report of progress. */
  readonly progress?: (report: Progress) => void;
  /** Receives each line of the log, except those that a step repeats. */
  readonly log?: (line: LogText) => void;
}

/** A handler must not fail because its report cannot be delivered. */
export function report({ progress }: CallListener, reported: Progress): void {
  try {
    progress?.(reported);
  } catch {
    // As documented.
  }
}

/** Appends a line, as `TaskLines` does. */
export function appendAndReport(
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
