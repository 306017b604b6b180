import { logLevels, type LogLevel, type LogText } from "../task/task-line.ts";
import type { JsonObject } from "./json-object.ts";

/** By which a client of a session says from which level on it wants log messages. */
export const setLevelMethod = "logging/setLevel";

export const logMethod = "notifications/message";

export interface LogMessage {
  readonly method: string;
  readonly params: JsonObject;
}

/** The level that a client names; undefined where it names none. */
export function logLevelOf(value: unknown): LogLevel | undefined {
  return logLevels.find((level) => level === value);
}

/** Whether a line is as severe as `least`, or more. */
export function isAtLeast(least: LogLevel, { level }: Pick<LogText, "level">): boolean {
  return logLevels.indexOf(level) >= logLevels.indexOf(least);
}

/**
 * A line of the log of a tool's call as MCP has log messages. Clients show data that is a string as it is, and all other as JSON: so a line is
 * its text, with its data beside it if it has some. A text that only repeats its data, as that of a handler which was written for the SDK, is left out.
 */
export function logMessage(tool: string, { level, text, data }: LogText): LogMessage {
  const said = data === undefined ? text : text === JSON.stringify(data) ? data : { text, data };
  return { method: logMethod, params: { level, logger: tool, data: said } };
}
