import type { LogLevel } from "../../task/task-line.ts";
import { logLevelOf } from "../log-message.ts";
import { metaOf } from "../meta.ts";

/** Holds the lowest level of log messages that the client wants. */
const logLevelKey = "io.modelcontextprotocol/logLevel";

/** Undefined if the request's client wants no log messages. */
export function readLogLevel(params: unknown): LogLevel | undefined {
  return logLevelOf(metaOf(params)[logLevelKey]);
}
