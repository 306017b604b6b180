import type { LogLevel } from "../../task/task-line.ts";
import { logLevelOf } from "../log-message.ts";
import { metaOf } from "../meta.ts";

/** Where a request says from which level on its client wants log messages. */
const logLevelKey = "io.modelcontextprotocol/logLevel";

/** Undefined for a request whose client wants none. */
export function readLogLevel(params: unknown): LogLevel | undefined {
  return logLevelOf(metaOf(params)[logLevelKey]);
}
