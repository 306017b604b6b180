import type { OptionNames } from "../../../task/option-names.ts";
import type { FetchHandlerOptions } from "../http-options.ts";
import { metricsEndpointOptions, type MetricsEndpointOptions } from "./metrics-options.ts";

export interface MetricsHandlerOptions
  extends MetricsEndpointOptions, Pick<FetchHandlerOptions, "allowedHosts" | "allowedOrigins"> {}

export const metricsHandlerOptions: OptionNames<MetricsHandlerOptions> = {
  ...metricsEndpointOptions,
  allowedHosts: true,
  allowedOrigins: true,
};
