import type { OptionNames } from "../../../task/option-names.ts";
import type { AuthenticateOperator } from "../admin/admin-options.ts";
import type { FetchHandlerOptions } from "../http-options.ts";
import { dashboardEndpointOptions, type DashboardEndpointOptions } from "./dashboard-options.ts";

export interface DashboardOptions
  extends
    Omit<DashboardEndpointOptions, "authenticate">,
    Pick<
      FetchHandlerOptions,
      "allowedHosts" | "allowedOrigins" | "maxRequestBodySize" | "requestTimeoutMs" | "maxPendingBytes"
    > {
  /**
   * Identifies operators by the headers of a request. If a request has no `Authorization`, the token with which the operator logged in is
   * added as `Authorization: Bearer …`. `adminToken` creates one.
   */
  readonly authenticate: AuthenticateOperator;
}

export const dashboardOptions: OptionNames<DashboardOptions> = {
  ...dashboardEndpointOptions,
  allowedHosts: true,
  allowedOrigins: true,
  maxRequestBodySize: true,
  requestTimeoutMs: true,
  maxPendingBytes: true,
};
