import type { OptionNames } from "../../../task/option-names.ts";
import type { AuthenticateOperator } from "../admin/admin-options.ts";

/** A dashboard for operators next to an MCP endpoint. */
export interface DashboardEndpointOptions {
  /** The full path of the page, wherever the handler is mounted. Default `/holdfast`. */
  readonly path?: string;
  /** Identifies operators. Default: that of the same server's admin endpoint. */
  readonly authenticate?: AuthenticateOperator;
  /** The URL of a trace, with `{traceId}` in place of its id. Default: tasks show only the id of their trace. */
  readonly traceUrl?: string;
}

export const dashboardEndpointOptions: OptionNames<DashboardEndpointOptions> = {
  path: true,
  authenticate: true,
  traceUrl: true,
};
