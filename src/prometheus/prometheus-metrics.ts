import { PrometheusSerializer } from "@opentelemetry/exporter-prometheus";
import {
  MeterProvider,
  MetricReader,
  type MeterProviderOptions,
  type MetricData,
  type ResourceMetrics,
} from "@opentelemetry/sdk-metrics";

/** Options of `prometheusMetrics`. */
export interface PrometheusMetricsOptions {
  /** The resource that the metrics describe. Default: that of the SDK, a service without a name. */
  readonly resource?: NonNullable<MeterProviderOptions["resource"]>;
  /** More readers for the same metrics, such as one that exports over OTLP. */
  readonly readers?: NonNullable<MeterProviderOptions["readers"]>;
  /** Views of the SDK: other histogram buckets, or metrics to leave out. */
  readonly views?: NonNullable<MeterProviderOptions["views"]>;
}

/** Metrics kept in memory until their text is requested. */
export interface PrometheusMetrics {
  /** For `openTelemetry({ meterProvider })`, and for your own metrics. */
  readonly meterProvider: MeterProvider;
  readonly contentType: string;
  /** All current metrics in Prometheus' text format. Concurrent calls get the same text. */
  text(): Promise<string>;
}

/** How long metrics may take to be collected (ms); later ones are left out. */
const collectMs = 5_000;

/**
 * Metrics for Prometheus, with OpenTelemetry's SDK. It needs `@opentelemetry/sdk-metrics` and `@opentelemetry/exporter-prometheus`. Serve
 * the result with `serveHttp({ metrics })` or `createMetricsHandler`.
 *
 * ```ts
 * const metrics = prometheusMetrics();
 * const tasks = createTasks({ store, telemetry: openTelemetry({ meterProvider: metrics.meterProvider }) });
 * ```
 */
export function prometheusMetrics(options: PrometheusMetricsOptions = {}): PrometheusMetrics {
  const { readers = [], ...more } = options;
  const reader = new AskedReader();
  const meterProvider = new MeterProvider({ ...more, readers: [reader, ...readers] });
  const serializer = new PrometheusSerializer();
  const collect = async (): Promise<string> => {
    const { resourceMetrics } = await reader.collect({ timeoutMillis: collectMs });
    return serializer.serialize(withUnits(resourceMetrics));
  };
  let collecting: Promise<string> | undefined;
  return {
    meterProvider,
    contentType: "text/plain; version=0.0.4; charset=utf-8",
    text: () =>
      (collecting ??= collect().finally(() => {
        collecting = undefined;
      })),
  };
}

/** Reads on demand. */
class AskedReader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

/**
 * Units as Prometheus names them at the end of metric names, like OpenTelemetry's collector. Others, such as `{task}`, are not part of a
 * name.
 */
const units: Readonly<Record<string, string>> = { s: "seconds", ms: "milliseconds", By: "bytes" };

function withUnits(metrics: ResourceMetrics): ResourceMetrics {
  const scopeMetrics = metrics.scopeMetrics.map(({ scope, metrics: ofScope }) => ({
    scope,
    metrics: ofScope.map(withUnit),
  }));
  return { ...metrics, scopeMetrics };
}

function withUnit(metric: MetricData): MetricData {
  const { name, unit: code } = metric.descriptor;
  const unit = units[code] ?? "";
  const isNamed = unit === "" || name.endsWith(unit);
  const descriptor = { ...metric.descriptor, unit, name: isNamed ? name : `${name}.${unit}` };
  return { ...metric, descriptor };
}
