import type { OptionNames } from "../../../task/option-names.ts";
import type { AuthenticateOperator } from "../admin/admin-options.ts";

/** Metrics as text: the result of `prometheusMetrics` from `holdfast/prometheus`. */
export interface MetricsText {
  readonly contentType: string;
  text(): Promise<string>;
}

/** An endpoint for metrics next to an MCP endpoint. */
export interface MetricsEndpointOptions {
  /** The full path of the endpoint, wherever the handler is mounted. Default `/metrics`. */
  readonly path?: string;
  readonly source: MetricsText;
  /** Separate from clients' authentication: callers of tools must not see how much others use. `adminToken` creates one. */
  readonly authenticate: AuthenticateOperator;
}

export const metricsEndpointOptions: OptionNames<MetricsEndpointOptions> = {
  path: true,
  source: true,
  authenticate: true,
};
