import { PrometheusSerializer } from "@opentelemetry/exporter-prometheus";
import {
  MeterProvider,
  MetricReader,
  type MeterProviderOptions,
  type MetricData,
  type ResourceMetrics,
} from "@opentelemetry/sdk-metrics";

export interface PrometheusMetricsOptions {
  /** What the metrics are of. Default: as the SDK has it, a service without a name. */
  readonly resource?: NonNullable<MeterProviderOptions["resource"]>;
  /** What else gets the same metrics, such as a reader that exports them over OTLP. */
  readonly readers?: NonNullable<MeterProviderOptions["readers"]>;
  /** Views of the SDK: other buckets of histograms, or metrics that are left out. */
  readonly views?: NonNullable<MeterProviderOptions["views"]>;
}

/** Metrics that are kept in memory until somebody asks for their text. */
export interface PrometheusMetrics {
  /** For `openTelemetry({ meterProvider })`, and for metrics of your own. */
  readonly meterProvider: MeterProvider;
  readonly contentType: string;
  /** All metrics as they are now, in Prometheus' text format. Those that ask at the same time get the same text. */
  text(): Promise<string>;
}

/** What reads metrics may take for that (ms); those that come late are left out. */
const collectMs = 5_000;

/**
 * Metrics for Prometheus, by OpenTelemetry's SDK. It needs `@opentelemetry/sdk-metrics` and `@opentelemetry/exporter-prometheus`. What it gives is served by
 * `serveHttp({ metrics })`, or by `createMetricsHandler`.
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

/** Reads when it is asked to. */
class AskedReader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

/** Units as Prometheus calls them, which end the names of metrics there, as OpenTelemetry's collector has them too. Others, such as `{task}`, are no part of a name. */
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
