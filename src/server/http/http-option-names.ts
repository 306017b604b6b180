import type { OptionNames } from "../../task/option-names.ts";
import type { FetchHandlerOptions, HttpOptions } from "./http-options.ts";

export const fetchHandlerOptions: OptionNames<FetchHandlerOptions> = {
  path: true,
  authenticate: true,
  anonymous: true,
  allowedHosts: true,
  allowedOrigins: true,
  cors: true,
  maxRequestBodySize: true,
  requestTimeoutMs: true,
  maxPendingBytes: true,
  maxOutgoingBytes: true,
  maxBatch: true,
  sessions: true,
  sessionIdleMs: true,
  unusedSessionMs: true,
  maxSessions: true,
  maxSessionsPerPrincipal: true,
  resumeMs: true,
  maxOpenRequestsPerSession: true,
  maxOpenRequestsPerPrincipal: true,
};

export const httpOptions: OptionNames<HttpOptions> = {
  ...fetchHandlerOptions,
  port: true,
  host: true,
  headersTimeoutMs: true,
  keepAliveTimeoutMs: true,
  stallTimeoutMs: true,
  maxConnections: true,
  maxHeaderBytes: true,
  maxHeaders: true,
};
