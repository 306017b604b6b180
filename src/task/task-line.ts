/** The severities of RFC 5424 that MCP's logging has, the least severe first. */
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

/** How severe a line of a log is. */
export type LogLevel = (typeof logLevels)[number];

/** What a handler can append to: the log of its task, which forgets its oldest lines, and its output, which forgets nothing. */
export type LineList = "log" | "output";

/** What stands in a line of a log. */
export interface LogText {
  readonly level: LogLevel;
  readonly text: string;
  /** Plain JSON data. */
  readonly data?: unknown;
}

/** A line of a task's log or output. */
export interface TaskLine {
  readonly list: LineList;
  /** Its number in its list, from 1 on; the numbers of lines that were forgotten are missing. */
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

/** A line as it is shown to whoever may read it. */
export function shownLine({ list, seq, at, step, body }: TaskLine): Readonly<Record<string, unknown>> {
  const content: unknown = JSON.parse(body);
  const said = list === "output" ? { content } : typeof content === "object" ? content : {};
  return { seq, at: new Date(at).toISOString(), ...said, ...(list === "log" && step !== "" && { step }) };
}
