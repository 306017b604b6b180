import { context } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  InMemorySpanExporter,
  SimpleSpanProcessor,
  TracerProvider,
  type SpanProcessor,
  type ReadableSpan,
} from "@opentelemetry/sdk-trace";
import type { TraceContext } from "../../src/task/record.ts";
import { openTelemetry, type OpenTelemetryOptions } from "../../src/telemetry/open-telemetry.ts";

/** One context manager for the process, as an SDK registers it. */
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());

/** Spans by the real SDK, kept in memory. */
export class RecordedSpans {
  readonly provider: TracerProvider;
  readonly telemetry: ReturnType<typeof openTelemetry>;
  readonly #exporter = new InMemorySpanExporter();
  readonly #waiting = new Set<() => void>();

  constructor(options: Omit<OpenTelemetryOptions, "tracerProvider"> = {}) {
    const told: SpanProcessor = {
      onStart: () => undefined,
      onEnd: () => this.#waiting.forEach((look) => look()),
      forceFlush: async () => undefined,
      shutdown: async () => undefined,
    };
    const spanProcessors = [new SimpleSpanProcessor({ exporter: this.#exporter }), told];
    this.provider = new TracerProvider({ spanProcessors });
    this.telemetry = openTelemetry({ ...options, tracerProvider: this.provider });
  }

  get all(): readonly ReadableSpan[] {
    return this.#exporter.getFinishedSpans();
  }

  named(name: string): ReadableSpan[] {
    return this.all.filter((span) => span.name === name);
  }

  /** The first span of this name, once it has ended. */
  async ended(name: string): Promise<ReadableSpan> {
    for (;;) {
      const [span] = this.named(name);
      if (span !== undefined) return span;
      await new Promise<void>((resolve) => {
        const look = (): void => {
          this.#waiting.delete(look);
          resolve();
        };
        this.#waiting.add(look);
      });
    }
  }

  /** Of a trace: each span by its name, below its parent, in the order of their ends, with how attempts ended. */
  tree(traceId: string, parentId?: string): string[] {
    return this.all
      .filter((span) => span.spanContext().traceId === traceId && span.parentSpanContext?.spanId === parentId)
      .flatMap((span) => {
        const end = span.attributes["holdfast.attempt.end"];
        const below = this.tree(traceId, span.spanContext().spanId).map((line) => `  ${line}`);
        return [typeof end === "string" ? `${span.name}: ${end}` : span.name, ...below];
      });
  }
}

export const caller: TraceContext = {
  traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
};
export const callerTrace = "0af7651916cd43dd8448eb211c80319c";
export const callerSpan = "b7ad6b7169203331";
