import { context } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { openTelemetry } from "holdfast/opentelemetry";

/**
 * Exports all metrics, and all traces or the part TRACE_RATIO of them, to the collector at OTEL_EXPORTER_OTLP_ENDPOINT; undefined if that
 * is not set.
 */
export function exportedTelemetry(): ReturnType<typeof openTelemetry> | undefined {
  if (process.env["OTEL_EXPORTER_OTLP_ENDPOINT"] === undefined) return undefined;
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const spanProcessors = [new BatchSpanProcessor({ exporter: new OTLPTraceExporter() })];
  const readers = [new PeriodicExportingMetricReader({ exporter: new OTLPMetricExporter() })];
  const root = new TraceIdRatioBasedSampler(Number(process.env["TRACE_RATIO"] ?? 1));
  return openTelemetry({
    tracerProvider: new TracerProvider({ spanProcessors, sampler: new ParentBasedSampler({ root }) }),
    meterProvider: new MeterProvider({ readers }),
  });
}
