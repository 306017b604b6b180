import {
  diag,
  INVALID_SPAN_CONTEXT,
  trace as traceApi,
  TraceFlags,
  type Context,
  type Span,
  type SpanOptions,
  type TimeInput,
  type Tracer,
} from "@opentelemetry/api";

/**
 * What `work` returns, or `otherwise` if it throws: samplers, processors, views and propagators are users' code, and their errors must not
 * reach requests or tasks. They go to OpenTelemetry's own log.
 */
export function unfailing<T>(work: () => T, otherwise: T): T {
  try {
    return work();
  } catch (error) {
    diag.error("holdfast: telemetry failed", error);
    return otherwise;
  }
}

/** Begins a span. If that fails, its would-be children become children of its parent. */
export function startSpan(tracer: Tracer, name: string, options: SpanOptions, parent: Context): Span {
  const above = (): Span => traceApi.wrapSpanContext(traceApi.getSpanContext(parent) ?? INVALID_SPAN_CONTEXT);
  return unfailing(() => tracer.startSpan(name, options, parent), undefined) ?? above();
}

/**
 * The same for a span of a task. The span of the task's first request decides whether the trace is sampled: if not, no span begins, and
 * its would-be children continue in the parent's context.
 */
export function startSpanOfTask(tracer: Tracer, name: string, options: SpanOptions, parent: Context): Span {
  const above = traceApi.getSpan(parent);
  const isLeftOut = above !== undefined && (above.spanContext().traceFlags & TraceFlags.SAMPLED) === 0;
  return isLeftOut && !above.isRecording() ? above : startSpan(tracer, name, options, parent);
}

export function endSpan(span: Span, at?: TimeInput): void {
  unfailing(() => span.end(at), undefined);
}
