import { context } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { openTelemetry } from "holdfast/opentelemetry";

// Makes spans of a handler, and of libraries that it calls, children of its steps' spans.
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());

const resource = resourceFromAttributes({ "service.name": "shipping", "service.instance.id": process.pid });

// Both send to OTEL_EXPORTER_OTLP_ENDPOINT, by default to a collector at http://localhost:4318.
const tracerProvider = new TracerProvider({
  resource,
  spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter() })],
});
const meterProvider = new MeterProvider({
  resource,
  readers: [
    new PeriodicExportingMetricReader({
      exporter: new OTLPMetricExporter(),
      exportIntervalMillis: 15_000,
      exportTimeoutMillis: 10_000,
    }),
  ],
});

export const tracer = tracerProvider.getTracer("shipping");
export const telemetry = openTelemetry({ tracerProvider, meterProvider });

/** Sends the remaining telemetry; call it when the server has stopped. */
export async function flushTelemetry(): Promise<void> {
  await Promise.all([tracerProvider.shutdown(), meterProvider.shutdown()]);
}
