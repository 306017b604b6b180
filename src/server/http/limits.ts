import { HoldfastError } from "../../task/fault.ts";
import type { RuntimeOptions } from "../../runtime/options.ts";
import type { BodyReadLimits } from "./body-reads.ts";
import type { FetchHandlerOptions, HttpOptions, NodeHandlerOptions } from "./http-options.ts";
import type { SessionsSetup } from "./sessions/sessions.ts";

/** What an HTTP server allows its connections; times in milliseconds. */
export interface ConnectionLimits {
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  readonly maxConnections: number;
  readonly maxHeaderBytes: number;
  readonly maxHeaders: number;
}

/** The limits that a handler can apply to its connections on any HTTP server. */
export interface NodeRequestLimits {
  readonly stallTimeoutMs: number;
  readonly maxHeaders: number;
}

/** What one principal may have open. */
export interface OpenRequestsLimits {
  readonly maxRequests: number;
  /** Those of its sessions, and those on which it gets what it missed. */
  readonly maxStreams: number;
}

/** The limits by default. */
export const defaultHttpLimits = {
  requestTimeoutMs: 60_000,
  maxPendingBytes: 256 * 1024 * 1024,
  maxOutgoingBytes: 256 * 1024 * 1024,
  maxBatch: 50,
  sessionIdleMs: 30 * 60_000,
  unusedSessionMs: 60_000,
  maxSessions: 10_000,
  maxSessionsPerPrincipal: 1_000,
  resumeMs: 60_000,
  maxOpenRequestsPerSession: 500,
  maxOpenRequestsPerPrincipal: 1_000,
  headersTimeoutMs: 15_000,
  keepAliveTimeoutMs: 5_000,
  stallTimeoutMs: 60_000,
  maxConnections: 10_000,
  maxHeaderBytes: 16 * 1024,
  maxHeaders: 100,
};

const slackBytes = 64 * 1024;

/** Node takes a longer timer for one of a millisecond. */
const longestMs = 2 ** 31 - 1;

/** Throws `configuration` for a limit that is not more than 0. */
function checkPositive(limits: Readonly<Record<string, number>>): void {
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
export function bodyReadLimits(
  { options: { maxBodyBytes } }: { readonly options: Pick<RuntimeOptions, "maxBodyBytes"> },
  options: FetchHandlerOptions,
): BodyReadLimits {
  const { maxRequestBodySize = maxBodyBytes + slackBytes } = options;
  const { requestTimeoutMs = defaultHttpLimits.requestTimeoutMs } = options;
  const { maxPendingBytes = Math.max(defaultHttpLimits.maxPendingBytes, maxRequestBodySize) } = options;
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
): Omit<SessionsSetup, "server" | "clock" | "unread" | "limits" | "memoryBytes"> {
  const { sessionIdleMs, unusedSessionMs, maxSessions, ...others } = withDefaults(options);
  const { maxSessionsPerPrincipal, resumeMs, maxOpenRequestsPerSession, maxOpenRequestsPerPrincipal } =
    others;
  const requests = { maxOpenRequestsPerSession, maxOpenRequestsPerPrincipal };
  const places = { maxSessions, maxSessionsPerPrincipal };
  const limits = { sessionIdleMs, unusedSessionMs, resumeMs, ...places, ...requests };
  checkPositive(limits);
  return limits;
}

export function connectionLimits(options: HttpOptions): ConnectionLimits {
  const { headersTimeoutMs, requestTimeoutMs, keepAliveTimeoutMs, ...others } = withDefaults(options);
  const times = { headersTimeoutMs, requestTimeoutMs, keepAliveTimeoutMs };
  const { maxConnections, maxHeaderBytes, maxHeaders } = others;
  const counts = { maxConnections, maxHeaderBytes, maxHeaders };
  checkTimes(times);
  checkPositive(counts);
  return { ...times, ...counts };
}

/** Throws `configuration`. */
export function nodeRequestLimits(options: NodeHandlerOptions): NodeRequestLimits {
  const { stallTimeoutMs, maxHeaders } = withDefaults(options);
  checkTimes({ stallTimeoutMs });
  checkPositive({ maxHeaders });
  return { stallTimeoutMs, maxHeaders };
}

/** Messages in one body; throws `configuration`. */
export function batchLimit(options: FetchHandlerOptions): number {
  const { maxBatch } = withDefaults(options);
  checkPositive({ maxBatch });
  return maxBatch;
}

/** Bytes that wait for clients; throws `configuration`. */
export function unreadLimit(options: FetchHandlerOptions): number {
  const { maxOutgoingBytes } = withDefaults(options);
  checkPositive({ maxOutgoingBytes });
  return maxOutgoingBytes;
}

/** What one principal may have open; throws `configuration`. */
export function openRequestsLimits(options: FetchHandlerOptions): OpenRequestsLimits {
  const { maxOpenRequestsPerPrincipal: maxRequests, maxSessionsPerPrincipal } = withDefaults(options);
  checkPositive({ maxOpenRequestsPerPrincipal: maxRequests, maxSessionsPerPrincipal });
  return { maxRequests, maxStreams: maxSessionsPerPrincipal + maxRequests };
}

/** What is given as undefined is not given. */
function withDefaults(options: HttpOptions): typeof defaultHttpLimits {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return { ...defaultHttpLimits, ...(Object.fromEntries(given) as Partial<typeof defaultHttpLimits>) };
}
