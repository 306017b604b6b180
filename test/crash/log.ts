import { existsSync, readFileSync } from "node:fs";

/** What handlers do, and what the suite does to a process, or is about to do. */
export type LogEvent =
  | "begins"
  | "returns"
  | "run"
  | "kept"
  | "asks"
  | "saw"
  | "fails"
  | "throws"
  | "lies down"
  | "wakes"
  | "told"
  | "serves"
  | "killed"
  | "stopped"
  | "continued";

export interface LogLine {
  readonly event: LogEvent;
  readonly task: string;
  readonly key: string;
  readonly value: string;
  /** The attempt of the task that did it. */
  readonly attempt: number;
  /** The process that did it. */
  readonly pid: number;
  /** When (epoch ms). */
  readonly at: number;
}

/** What the servers did, in the order in which they did it. */
export function readLog(file: string): LogLine[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as LogLine);
}

/** Steps that ran after their result was in the journal, and journalled values that changed: there must be none. */
export function repeatedSteps(lines: readonly LogLine[]): string[] {
  const kept = new Map<string, string>();
  const problems: string[] = [];
  for (const { event, task, key, value } of lines) {
    const step = `${task} ${key}`;
    const before = kept.get(step);
    if (event === "run" && before !== undefined) problems.push(`${step} ran again`);
    if (event !== "kept" && event !== "saw") continue;
    if (before !== undefined && before !== value) problems.push(`${step} was ${before} and is ${value}`);
    kept.set(step, value);
  }
  return problems;
}

/** The values that a task's journal gave to its handler, by key. */
export function keptValues(lines: readonly LogLine[], task: string): Map<string, string> {
  return new Map(
    lines
      .filter(({ event, task: id }) => id === task && (event === "kept" || event === "saw"))
      .map(({ key, value }) => [key, value]),
  );
}

/** Runs of the tool that must never run twice, by task. */
export function runsOf(lines: readonly LogLine[], key: string): string[] {
  return lines.filter((line) => line.event === "run" && line.key === key).map(({ task }) => task);
}
