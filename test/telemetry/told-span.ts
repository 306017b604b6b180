import type { Attributes } from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";

/** A span as one process tells it to another. */
export interface ToldSpan {
  readonly name: string;
  readonly attributes: Attributes;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string | undefined;
}

export function toldSpan(span: ReadableSpan): ToldSpan {
  const { traceId, spanId } = span.spanContext();
  const { name, attributes, parentSpanContext } = span;
  return { name, attributes, traceId, spanId, parentId: parentSpanContext?.spanId };
}
