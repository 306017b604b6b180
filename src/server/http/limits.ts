import { HoldfastError } from "../../task/fault.ts";
import type { TaskServer } from "../task-server.ts";
import type { BodyReadLimits } from "./body-reads.ts";
import type { FetchHandlerOptions, HttpOptions } from "./http-options.ts";

/** What an HTTP server allows its connections; times in milliseconds. */
export interface ConnectionLimits {
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  readonly stallTimeoutMs: number;
  readonly maxConnections: number;
  readonly maxHeaderBytes: number;
  readonly maxHeaders: number;
}

const slackBytes = 64 * 1024;
const defaultRequestTimeoutMs = 60_000;

/** Throws `configuration` for a limit that is not more than 0. */
export function checkPositive(limits: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(limits)) {
    // A NaN would switch the limit off.
    if (!(value > 0))
      throw new HoldfastError("configuration", `${name} has to be more than 0, not ${value}.`);
  }
}

/** The largest request: the largest arguments, and the message around them. */
export function bodyReadLimits(server: TaskServer, options: FetchHandlerOptions): BodyReadLimits {
  const { maxRequestBodySize = server.options.maxBodyBytes + slackBytes } = options;
  const { requestTimeoutMs = defaultRequestTimeoutMs, maxPendingBytes = 256 * 1024 * 1024 } = options;
  checkPositive({ maxRequestBodySize, requestTimeoutMs, maxPendingBytes });
  return { maxBytes: maxRequestBodySize, maxMs: requestTimeoutMs, maxPendingBytes };
}

export function connectionLimits(options: HttpOptions): ConnectionLimits {
  const limits: ConnectionLimits = {
    headersTimeoutMs: options.headersTimeoutMs ?? 15_000,
    requestTimeoutMs: options.requestTimeoutMs ?? defaultRequestTimeoutMs,
    keepAliveTimeoutMs: options.keepAliveTimeoutMs ?? 5_000,
    stallTimeoutMs: options.stallTimeoutMs ?? 60_000,
    maxConnections: options.maxConnections ?? 10_000,
    maxHeaderBytes: options.maxHeaderBytes ?? 16 * 1024,
    maxHeaders: options.maxHeaders ?? 100,
  };
  checkPositive({ ...limits });
  return limits;
}
