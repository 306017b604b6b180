import { HoldfastError } from "../../task/fault.ts";
import type { TaskServer } from "../task-server.ts";
import type { BodyReadLimits } from "./body-reads.ts";
import type { FetchHandlerOptions, HttpOptions } from "./http-options.ts";
import type { SessionsSetup } from "./sessions/sessions.ts";

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

/** Node takes a longer timer for one of a millisecond. */
const longestMs = 2 ** 31 - 1;

/** Throws `configuration` for a limit that is not more than 0. */
export function checkPositive(limits: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(limits)) {
    // A NaN would switch the limit off.
    if (!(value > 0))
      throw new HoldfastError("configuration", `${name} has to be more than 0, not ${value}.`);
  }
}

function checkTimes(times: Readonly<Record<string, number>>): void {
  checkPositive(times);
  for (const [name, value] of Object.entries(times)) {
    if (!Number.isInteger(value) || value > longestMs) {
      throw new HoldfastError("configuration", `${name} has to be a whole number up to ${longestMs}.`);
    }
  }
}

/** What may be received: the largest arguments, and the message around them. */
export function bodyReadLimits(server: TaskServer, options: FetchHandlerOptions): BodyReadLimits {
  const { maxRequestBodySize = server.options.maxBodyBytes + slackBytes } = options;
  const { requestTimeoutMs = defaultRequestTimeoutMs } = options;
  const { maxPendingBytes = Math.max(256 * 1024 * 1024, maxRequestBodySize) } = options;
  checkPositive({ maxRequestBodySize, maxPendingBytes });
  checkTimes({ requestTimeoutMs });
  if (maxPendingBytes < maxRequestBodySize) {
    const message = `maxPendingBytes has to be at least maxRequestBodySize, which is ${maxRequestBodySize}.`;
    throw new HoldfastError("configuration", message);
  }
  return { maxBytes: maxRequestBodySize, maxMs: requestTimeoutMs, maxPendingBytes };
}

export function sessionLimits(
  options: FetchHandlerOptions,
): Pick<SessionsSetup, "sessionIdleMs" | "unusedSessionMs" | "maxSessions"> {
  const { sessionIdleMs = 30 * 60_000, unusedSessionMs = 60_000, maxSessions = 10_000 } = options;
  const limits = { sessionIdleMs, unusedSessionMs, maxSessions };
  checkPositive(limits);
  return limits;
}

export function connectionLimits(options: HttpOptions): ConnectionLimits {
  const times = {
    headersTimeoutMs: options.headersTimeoutMs ?? 15_000,
    requestTimeoutMs: options.requestTimeoutMs ?? defaultRequestTimeoutMs,
    keepAliveTimeoutMs: options.keepAliveTimeoutMs ?? 5_000,
    stallTimeoutMs: options.stallTimeoutMs ?? 60_000,
  };
  const counts = {
    maxConnections: options.maxConnections ?? 10_000,
    maxHeaderBytes: options.maxHeaderBytes ?? 16 * 1024,
    maxHeaders: options.maxHeaders ?? 100,
  };
  checkTimes(times);
  checkPositive(counts);
  return { ...times, ...counts };
}
