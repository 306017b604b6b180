import type { OptionNames } from "../../../task/option-names.ts";
import type { AuthenticateOperator } from "../admin/admin-options.ts";

/** Metrics as text: what `prometheusMetrics` of `holdfast/prometheus` gives. */
export interface MetricsText {
  readonly contentType: string;
  text(): Promise<string>;
}

/** An endpoint for metrics beside an MCP endpoint. */
export interface MetricsEndpointOptions {
  /** The whole path of the endpoint, wherever the handler is mounted. Default `/metrics`. */
  readonly path?: string;
  readonly source: MetricsText;
  /** Of its own: whoever may call tools may not see how much others do. `adminToken` makes one. */
  readonly authenticate: AuthenticateOperator;
}

export const metricsEndpointOptions: OptionNames<MetricsEndpointOptions> = {
  path: true,
  source: true,
  authenticate: true,
};
