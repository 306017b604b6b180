import type { LogLine } from "./log.ts";

/** How often the tool `tries` is run in all, and how often its step is tried again. */
export const attempts = 3;
export const retries = 2;
/** What the tool and its step throw. */
export const failure = "It failed.";

/** What the database has of a task of `tries`. */
export interface Tried {
  readonly task: string;
  readonly outcomeKind: string | null;
  readonly failures: number;
  /** The tries of its step after which it was to be tried again; null where it never failed. */
  readonly tries: number | null;
  /** Whether the step has failed for good. */
  readonly stepFailed: boolean;
}

/** Tries that are recorded and were not allowed, or did not take place, and tasks that were given up too early: there must be none. */
export function wrongTries(tried: readonly Tried[], lines: readonly LogLine[]): string[] {
  return tried.flatMap(({ task, outcomeKind, failures, tries, stepFailed }) => {
    const threw = lines.filter((line) => line.event === "throws" && line.task === task);
    const problems: string[] = [];
    if (failures >= attempts) problems.push(`${task} was to be run again after ${failures} failures`);
    if (outcomeKind === "error_result" && failures < attempts - 1)
      problems.push(`${task} was given up after ${failures} failures`);
    if (threw.length < failures) problems.push(`${task} threw ${threw.length} times and not ${failures}`);
    if ((tries ?? 0) > retries)
      problems.push(`the step of ${task} was to be tried again after ${tries} tries`);
    if (stepFailed && tries !== retries) problems.push(`the step of ${task} failed after ${tries} tries`);
    return problems;
  });
}
