import {
  metrics as metricsApi,
  trace as traceApi,
  type MeterProvider,
  type TracerProvider,
} from "@opentelemetry/api";
import type { ClientTelemetry } from "../client/client-events.ts";
import type { ServerTelemetry } from "../runtime/telemetry/telemetry.ts";
import { HoldfastError } from "../task/fault.ts";
import { assertOptionNames, type OptionNames } from "../task/option-names.ts";
import { ClientSpans } from "./client-spans.ts";
import { histogramOf, metric, SeriesNames } from "./metric.ts";
import { ServerMeters } from "./server-meters.ts";
import { ServerSpans } from "./server-spans.ts";
import type { ErrorText } from "./spans.ts";

/** Options of `openTelemetry`. */
export interface OpenTelemetryOptions {
  /** Creates spans. Default: the provider registered with OpenTelemetry's API. */
  readonly tracerProvider?: TracerProvider;
  /** Creates metrics. Default: the provider registered with OpenTelemetry's API. */
  readonly meterProvider?: MeterProvider;
  /** Whether spans contain the texts and stacks of errors, which may quote what a caller sent. Types of errors stay. Default `keep`. */
  readonly errorText?: ErrorText;
  /**
   * Maximum number of tools and prompts that metrics tell apart. Those that come later are counted together, as `_OTHER`: an SDK keeps the
   * series of a tool even when the tool is gone. Default 100.
   */
  readonly maxNames?: number;
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
  assertOptionNames("openTelemetry", options, optionNames);
  const {
    tracerProvider = traceApi,
    meterProvider = metricsApi,
    errorText = "keep",
    maxNames = 100,
  } = options;
  if (errorText !== "keep" && errorText !== "omit")
    throw new HoldfastError("configuration", 'openTelemetry: errorText must be "keep" or "omit".');
  if (!Number.isSafeInteger(maxNames) || maxNames < 1)
    throw new HoldfastError("configuration", "openTelemetry: maxNames must be a whole number from 1.");
  const meter = meterProvider.getMeter(scope);
  const names = new SeriesNames(maxNames);
  const metrics = new ServerMeters(meter, names);
  const tracer = tracerProvider.getTracer(scope);
  return {
    metrics,
    tracing: new ServerSpans({ tracer, errorText, names, duration: metrics.requestDuration }),
    client: new ClientSpans({
      tracer,
      errorText,
      names,
      duration: histogramOf(meter, metric.clientRequestDuration),
    }),
  };
}

const optionNames: OptionNames<OpenTelemetryOptions> = {
  tracerProvider: true,
  meterProvider: true,
  errorText: true,
  maxNames: true,
};
