import type { OptionNames } from "../../task/option-names.ts";
import type { FetchHandlerOptions, HttpOptions, NodeHandlerOptions } from "./http-options.ts";

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

export const nodeHandlerOptions: OptionNames<NodeHandlerOptions> = {
  ...fetchHandlerOptions,
  stallTimeoutMs: true,
  maxHeaders: true,
};

export const httpOptions: OptionNames<HttpOptions> = {
  ...nodeHandlerOptions,
  port: true,
  host: true,
  headersTimeoutMs: true,
  keepAliveTimeoutMs: true,
  maxConnections: true,
  maxHeaderBytes: true,
  admin: true,
  metrics: true,
  dashboard: true,
};
