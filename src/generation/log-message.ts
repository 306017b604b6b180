import { logLevels, type LogLevel, type LogText } from "../task/task-line.ts";
import type { JsonObject } from "./json-object.ts";

/** Sets the lowest level of log messages that the client of a session wants. */
export const setLevelMethod = "logging/setLevel";

export const logMethod = "notifications/message";

export interface LogMessage {
  readonly method: string;
  readonly params: JsonObject;
}

/** The level that a client names; undefined if it names none. */
export function logLevelOf(value: unknown): LogLevel | undefined {
  return logLevels.find((level) => level === value);
}

/** Whether a line is at least as severe as `least`. */
export function isAtLeast(least: LogLevel, { level }: Pick<LogText, "level">): boolean {
  return logLevels.indexOf(level) >= logLevels.indexOf(least);
}

/**
 * A log line of a tool call as an MCP log message. Clients show string data as it is, and other data as JSON, so a line is sent as its
 * text, together with its data if it has any. A text that only repeats its data, as from a handler written for the SDK, is left out.
 */
export function logMessage(tool: string, { level, text, data }: LogText): LogMessage {
  const said = data === undefined ? text : text === JSON.stringify(data) ? data : { text, data };
  return { method: logMethod, params: { level, logger: tool, data: said } };
}
