import type { OptionNames } from "../../../task/option-names.ts";
import type { FetchHandlerOptions } from "../http-options.ts";
import type { AdminEndpointOptions } from "./admin-options.ts";

export interface AdminHandlerOptions
  extends
    AdminEndpointOptions,
    Pick<
      FetchHandlerOptions,
      "allowedHosts" | "allowedOrigins" | "maxRequestBodySize" | "requestTimeoutMs" | "maxPendingBytes"
    > {}

export const adminHandlerOptions: OptionNames<AdminHandlerOptions> = {
  path: true,
  authenticate: true,
  allowedHosts: true,
  allowedOrigins: true,
  maxRequestBodySize: true,
  requestTimeoutMs: true,
  maxPendingBytes: true,
};
