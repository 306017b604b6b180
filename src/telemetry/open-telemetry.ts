import {
  metrics as metricsApi,
  trace as traceApi,
  type MeterProvider,
  type TracerProvider,
} from "@opentelemetry/api";
import type { ClientTelemetry } from "../client/client-telemetry.ts";
import type { ServerTelemetry } from "../runtime/telemetry/telemetry.ts";
import { HoldfastError } from "../task/fault.ts";
import { assertOptionNames, type OptionNames } from "../task/option-names.ts";
import { ClientSpans } from "./client-spans.ts";
import { histogramOf, metric } from "./metric.ts";
import { ServerMeters } from "./server-meters.ts";
import { ServerSpans } from "./server-spans.ts";
import type { ErrorText } from "./spans.ts";

export interface OpenTelemetryOptions {
  /** Creates spans. Default: the provider registered with OpenTelemetry's API. */
  readonly tracerProvider?: TracerProvider;
  /** Creates metrics. Default: the provider registered with OpenTelemetry's API. */
  readonly meterProvider?: MeterProvider;
  /** Whether spans contain the texts and stacks of errors, which may quote what a caller sent. Types of errors stay. Default `keep`. */
  readonly errorText?: ErrorText;
}

const scope = "holdfast";

/**
 * Traces and measures a server or a client with OpenTelemetry. It needs `@opentelemetry/api`, and has no effect until the process has an
 * SDK that exports telemetry.
 *
 * ```ts
 * const tasks = createTasks({ store, telemetry: openTelemetry() });
 * ```
 *
 * ```ts
 * const client = await connect(url, { telemetry: openTelemetry() });
 * ```
 *
 * Throws `configuration` for invalid options.
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): ServerTelemetry & ClientTelemetry {
  assertOptionNames("openTelemetry", options, names);
  const { tracerProvider = traceApi, meterProvider = metricsApi, errorText = "keep" } = options;
  if (errorText !== "keep" && errorText !== "omit")
    throw new HoldfastError("configuration", 'openTelemetry: errorText must be "keep" or "omit".');
  const meter = meterProvider.getMeter(scope);
  const metrics = new ServerMeters(meter);
  const tracer = tracerProvider.getTracer(scope);
  return {
    metrics,
    tracing: new ServerSpans({ tracer, errorText, duration: metrics.requestDuration }),
    client: new ClientSpans({
      tracer,
      errorText,
      duration: histogramOf(meter, metric.clientRequestDuration),
    }),
  };
}

const names: OptionNames<OpenTelemetryOptions> = {
  tracerProvider: true,
  meterProvider: true,
  errorText: true,
};
