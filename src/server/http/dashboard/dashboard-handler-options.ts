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
   * Who may look and act, by the headers of a request. Where a request has no `Authorization`, the token with which an operator logged in is there as
   * `Authorization: Bearer …`. `adminToken` makes one.
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
