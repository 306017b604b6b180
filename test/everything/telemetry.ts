import { context, diag, DiagConsoleLogger, DiagLogLevel } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
  type Resource,
} from "@opentelemetry/resources";
import { PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import type { TasksOptions } from "holdfast";
import { openTelemetry } from "holdfast/opentelemetry";
import { prometheusMetrics, type PrometheusMetrics } from "holdfast/prometheus";
import type { Settings } from "./settings.ts";

/** Measures the server, and traces it if something is exported. */
export interface Telemetry {
  readonly telemetry: NonNullable<TasksOptions["telemetry"]>;
  readonly metrics: PrometheusMetrics;
  /** Tries for a while to send what was not sent yet. Idempotent. */
  end(): Promise<void>;
}

/** How long the last export may take (ms): what comes before it in a stop has eight of its ten seconds. */
const lastExportMs = 1_500;

/** The SDK's exporters themselves read in the environment where, for how long and with which headers to export. */
export function startTelemetry({ otlp }: Pick<Settings, "otlp">): Telemetry {
  const resource = defaultResource()
    .merge(resourceFromAttributes({ "service.name": "everything" }))
    .merge(detectResources({ detectors: [envDetector] }));
  if (otlp === undefined) {
    const metrics = prometheusMetrics({ resource });
    const { meterProvider } = metrics;
    return { telemetry: openTelemetry({ meterProvider }), metrics, end: () => Promise.resolve() };
  }
  // On stderr; stdout has the URL, or the messages of MCP.
  diag.setLogger(new DiagConsoleLogger(), DiagLogLevel.WARN);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const tracerProvider = tracerProviderOf(resource, otlp);
  const exportIntervalMillis = otlp.metricsEveryMs;
  const reader = new PeriodicExportingMetricReader({
    exporter: new OTLPMetricExporter(),
    exportIntervalMillis,
  });
  const metrics = prometheusMetrics({ resource, readers: [reader] });
  const { meterProvider } = metrics;
  let ending: Promise<void> | undefined;
  const sent = async (): Promise<void> => {
    const late = new Promise((resolve) => setTimeout(resolve, lastExportMs).unref());
    await Promise.race([Promise.allSettled([tracerProvider.shutdown(), meterProvider.shutdown()]), late]);
  };
  return {
    telemetry: openTelemetry({ tracerProvider, meterProvider }),
    metrics,
    end: () => (ending ??= sent()),
  };
}

function tracerProviderOf(
  resource: Resource,
  { sampler, spansEveryMs }: NonNullable<Settings["otlp"]>,
): TracerProvider {
  const exporter = new OTLPTraceExporter();
  const spanProcessors = [new BatchSpanProcessor({ exporter, scheduledDelayMillis: spansEveryMs })];
  return new TracerProvider({ resource, sampler, spanProcessors });
}
