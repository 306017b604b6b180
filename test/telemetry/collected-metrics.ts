import type { Attributes } from "@opentelemetry/api";
import { DataPointType, MeterProvider, MetricReader, type MetricData } from "@opentelemetry/sdk-metrics";
import { openTelemetry, type OpenTelemetryOptions } from "../../src/telemetry/open-telemetry.ts";

class Reader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

/** A number that stands for one set of attributes: of a histogram, how often what was measured, and the sum of it. */
export interface Point {
  readonly attributes: Attributes;
  readonly value: number | { readonly count: number; readonly sum: number | undefined };
}

/** Metrics by the real SDK, read when a test asks for them. */
export class CollectedMetrics {
  readonly provider: MeterProvider;
  readonly telemetry: ReturnType<typeof openTelemetry>;
  readonly #reader = new Reader();

  constructor(options: OpenTelemetryOptions = {}) {
    this.provider = new MeterProvider({ readers: [this.#reader] });
    this.telemetry = openTelemetry({ ...options, meterProvider: this.provider });
  }

  async all(): Promise<readonly MetricData[]> {
    const { resourceMetrics, errors } = await this.#reader.collect();
    if (errors.length > 0) throw new AggregateError(errors, "Not all could be read.");
    return resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics);
  }

  async points(name: string): Promise<readonly Point[]> {
    const found = (await this.all()).find(({ descriptor }) => descriptor.name === name);
    return found === undefined ? [] : pointsOf(found);
  }
}

function pointsOf(metric: MetricData): readonly Point[] {
  switch (metric.dataPointType) {
    case DataPointType.SUM:
    case DataPointType.GAUGE:
      return metric.dataPoints.map(({ attributes, value }) => ({ attributes, value }));
    default:
      return metric.dataPoints.map(({ attributes, value: { count, sum } }) => ({
        attributes,
        value: { count, sum },
      }));
  }
}
