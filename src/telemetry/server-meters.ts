import type { Attributes, Histogram, Meter } from "@opentelemetry/api";
import type { ServerEvent } from "../runtime/events/server-event.ts";
import type { ServerMetrics, ServerReadings, WriteOutcome } from "../runtime/telemetry/metrics.ts";
import type { TaskCommandName } from "../task/command.ts";
import { attribute } from "./attributes.ts";
import { EventMeters } from "./event-meters.ts";
import { histogramOf, metric } from "./metric.ts";
import { ServerGauges } from "./server-gauges.ts";

/** The metrics of a server. */
export class ServerMeters implements ServerMetrics {
  readonly requestDuration: Histogram;
  readonly #events: EventMeters;
  readonly #gauges: ServerGauges;
  readonly #writeDuration: Histogram;
  /** The attributes of writes: they have few values. */
  readonly #writes = new Map<string, Attributes>();
  readonly #commitSize: Histogram;
  readonly #pushDelay: Histogram;

  constructor(meter: Meter) {
    this.requestDuration = histogramOf(meter, metric.requestDuration);
    this.#events = new EventMeters(meter);
    this.#gauges = ServerGauges.of(meter);
    this.#writeDuration = histogramOf(meter, metric.writeDuration);
    this.#commitSize = histogramOf(meter, metric.commitSize);
    this.#pushDelay = histogramOf(meter, metric.pushDelay);
  }

  event(event: ServerEvent): void {
    this.#events.count(event);
  }

  wrote(command: TaskCommandName, durationMs: number, outcome: WriteOutcome): void {
    const key = `${command} ${outcome}` as const;
    const attributes = this.#writes.get(key) ?? {
      [attribute.storeCommand]: command,
      [attribute.storeOutcome]: outcome,
    };
    this.#writes.set(key, attributes);
    this.#writeDuration.record(durationMs / 1_000, attributes);
  }

  committed(commands: number): void {
    this.#commitSize.record(commands);
  }

  pushed(delayMs: number): void {
    this.#pushDelay.record(delayMs / 1_000);
  }

  observe(readings: ServerReadings): () => void {
    this.#events.begin();
    const flush = (): void => this.#events.flush();
    const end = this.#gauges.observe(readings, flush);
    return () => {
      end();
      flush();
    };
  }
}
