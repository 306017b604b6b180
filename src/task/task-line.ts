import { type WaitReason, waitReasons } from "./journal.ts";
import { isTerminal } from "./outcome.ts";
import type { TaskRecord } from "./record.ts";

/** The RFC 5424 severities that MCP's logging uses, from least to most severe. */
export const logLevels = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency",
] as const;

/** The severity of a log line. */
export type LogLevel = (typeof logLevels)[number];

/** What a handler can append to: its task's log, which drops its oldest lines, and its output, which drops nothing. */
export type LineList = "log" | "output";

/** The content of a log line. */
export interface LogText {
  readonly level: LogLevel;
  readonly text: string;
  /** Plain JSON data. */
  readonly data?: unknown;
}

/** A line of a task's log or output. */
export interface TaskLine {
  readonly list: LineList;
  /** Its number in its list, from 1. The numbers of dropped lines are missing. */
  readonly seq: number;
  /** Epoch ms. */
  readonly at: number;
  /** The key of the step whose function appended it; empty for the handler itself. */
  readonly step: string;
  /** How many lines that step, or the handler itself, had appended to the list before. */
  readonly place: number;
  /** Raw JSON: a `LogText` in a log, a content block in an output. */
  readonly body: string;
}

/** A line as readers see it. */
export function shownLine({ list, seq, at, step, body }: TaskLine): Readonly<Record<string, unknown>> {
  const content: unknown = JSON.parse(body);
  const said = list === "output" ? { content } : typeof content === "object" ? content : {};
  return { seq, at: new Date(at).toISOString(), ...said, ...(list === "log" && step !== "" && { step }) };
}

/** What an unfinished task waits for, in the order in which people are shown them. `slot`: a process that has room for it. */
export const allWaitReasons = [...(Object.keys(waitReasons) as WaitReason[]), "slot"] as const;

export type TaskWait = (typeof allWaitReasons)[number];

/** Null if the task does not wait, or if that is not known. */
export function waitsForOf(
  task: Pick<TaskRecord, "state" | "openInputs" | "lane" | "waitsFor"> & { readonly blocked?: object },
): TaskWait | null {
  if (isTerminal(task.state) || task.blocked !== undefined) return null;
  if (task.openInputs > 0) return "question";
  return task.lane === null ? task.waitsFor : "slot";
}
