import { HoldfastError } from "../../task/fault.ts";
import type { RuntimeSettings } from "../../runtime/options.ts";
import type { BodyReadLimits } from "./body-reads.ts";
import {
  httpSettings,
  type FetchHandlerOptions,
  type HttpOptions,
  type NodeHandlerOptions,
} from "./http-options.ts";

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

/** What sessions are allowed; times in milliseconds. */
export interface SessionLimits {
  readonly sessionIdleMs: number;
  /** How long a session may be idle if it was never used, or if another session needs its slot. */
  readonly unusedSessionMs: number;
  readonly maxSessions: number;
  readonly maxSessionsPerPrincipal: number;
  /** How long a client whose connection broke may take to resume. */
  readonly resumeMs: number;
  readonly maxOpenRequestsPerSession: number;
  readonly maxOpenRequestsPerPrincipal: number;
}

/** What one principal may have open. */
export interface OpenRequestsLimits {
  readonly maxRequests: number;
  /** Those of its sessions, and those on which it gets what it missed. */
  readonly maxStreams: number;
}

const slackBytes = 64 * 1024;

/** What may be received: the largest arguments, and the message around them. Throws `configuration`. */
export function bodyReadLimits(
  { options: { maxBodyBytes } }: { readonly options: Pick<RuntimeSettings, "maxBodyBytes"> },
  options: FetchHandlerOptions,
): BodyReadLimits {
  const { maxRequestBodySize = maxBodyBytes + slackBytes } = options;
  const { maxPendingBytes: byDefault } = httpSettings({});
  const { maxPendingBytes = Math.max(byDefault, maxRequestBodySize) } = options;
  if (maxPendingBytes < maxRequestBodySize) {
    const message = `maxPendingBytes must be at least maxRequestBodySize, which is ${maxRequestBodySize}.`;
    throw new HoldfastError("configuration", message);
  }
  return {
    maxBytes: maxRequestBodySize,
    maxMs: httpSettings(options).requestTimeoutMs,
    maxPendingBytes,
  };
}

export function sessionLimits(options: FetchHandlerOptions): SessionLimits {
  const { sessionIdleMs, unusedSessionMs, resumeMs, ...others } = httpSettings(options);
  const { maxSessions, maxSessionsPerPrincipal } = others;
  const { maxOpenRequestsPerSession, maxOpenRequestsPerPrincipal } = others;
  const requests = { maxOpenRequestsPerSession, maxOpenRequestsPerPrincipal };
  return { sessionIdleMs, unusedSessionMs, resumeMs, maxSessions, maxSessionsPerPrincipal, ...requests };
}

export function connectionLimits(options: HttpOptions): ConnectionLimits {
  const { headersTimeoutMs, requestTimeoutMs, keepAliveTimeoutMs, ...others } = httpSettings(options);
  const { maxConnections, maxHeaderBytes, maxHeaders } = others;
  return {
    headersTimeoutMs,
    requestTimeoutMs,
    keepAliveTimeoutMs,
    maxConnections,
    maxHeaderBytes,
    maxHeaders,
  };
}

export function nodeRequestLimits(options: NodeHandlerOptions): NodeRequestLimits {
  const { stallTimeoutMs, maxHeaders } = httpSettings(options);
  return { stallTimeoutMs, maxHeaders };
}

/** What one principal may have open. */
export function openRequestsLimits(options: FetchHandlerOptions): OpenRequestsLimits {
  const { maxOpenRequestsPerPrincipal: maxRequests, maxSessionsPerPrincipal } = httpSettings(options);
  return { maxRequests, maxStreams: maxSessionsPerPrincipal + maxRequests };
}
