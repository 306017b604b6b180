import type { OptionNames } from "../../../task/option-names.ts";
import type { AuthenticateOperator } from "../admin/admin-options.ts";

/** A page for operators beside an MCP endpoint. */
export interface DashboardEndpointOptions {
  /** The whole path of the page, wherever the handler is mounted. Default `/holdfast`. */
  readonly path?: string;
  /** Who may look and act. Default: who may by the admin endpoint of the same server. */
  readonly authenticate?: AuthenticateOperator;
  /** Where traces are shown: a URL in which `{traceId}` stands for the trace of a task. Default: tasks show the id of their trace alone. */
  readonly traceUrl?: string;
}

export const dashboardEndpointOptions: OptionNames<DashboardEndpointOptions> = {
  path: true,
  authenticate: true,
  traceUrl: true,
};
