/** What spans of servers and clients share. Telemetry never breaks what it observes: whatever OpenTelemetry throws is dropped. */

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
  createTraceState,
  propagation,
  ROOT_CONTEXT,
  type SpanContext,
  SpanStatusCode,
} from "@opentelemetry/api";
import type { TraceContext } from "../task/record.ts";
import { eventError } from "../runtime/events/server-events.ts";

/**
 * Names of attributes: those of OpenTelemetry's conventions if they have one, otherwise `holdfast.…`. docs/reference/telemetry.md
 * explains them.
 */
export const attribute = {
  method: "mcp.method.name",
  protocolVersion: "mcp.protocol.version",
  requestId: "jsonrpc.request.id",
  statusCode: "rpc.response.status_code",
  transport: "network.transport",
  networkProtocol: "network.protocol.name",
  operation: "gen_ai.operation.name",
  tool: "gen_ai.tool.name",
  prompt: "gen_ai.prompt.name",
  serverAddress: "server.address",
  serverPort: "server.port",
  errorType: "error.type",
  taskId: "holdfast.task.id",
  parentId: "holdfast.task.parent_id",
  attempt: "holdfast.task.attempt",
  attemptEnd: "holdfast.attempt.end",
  key: "holdfast.journal.key",
  tries: "holdfast.step.tries",
  stepOutcome: "holdfast.step.outcome",
  taskOutcome: "holdfast.task.outcome",
  resumed: "holdfast.attempt.resumed",
  queueState: "holdfast.queue.state",
  waitReason: "holdfast.wait.reason",
  limit: "holdfast.limit.name",
  webhook: "holdfast.webhook.name",
  webhookState: "holdfast.webhook.state",
  webhookOutcome: "holdfast.webhook.outcome",
  storeCommand: "holdfast.store.command",
  storeOutcome: "holdfast.store.outcome",
  httpStatus: "http.response.status_code",
  waitOutcome: "holdfast.wait.outcome",
} as const;

/**
 * What `work` returns, or `otherwise` if it throws: samplers, processors, views and propagators are users' code, and their errors must not
 * reach requests or tasks. They go to OpenTelemetry's own log.
 */
export function unfailing<T>(work: () => T, otherwise: T): T {
  try {
    return work();
  } catch (error) {
    failed(error);
    return otherwise;
  }
}

export function failed(error: unknown): void {
  diag.error("holdfast: telemetry failed", error);
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
  const leftOut = above !== undefined && (above.spanContext().traceFlags & TraceFlags.SAMPLED) === 0;
  return leftOut && !above.isRecording() ? above : startSpan(tracer, name, options, parent);
}

export function endSpan(span: Span, at?: TimeInput): void {
  unfailing(() => span.end(at), undefined);
}

/** The OpenTelemetry context for a trace context. The process's propagator, if there is one, reads its baggage. */
export function contextOf(given: TraceContext | undefined): Context {
  if (given === undefined) return ROOT_CONTEXT;
  const remote =
    given.baggage === undefined
      ? ROOT_CONTEXT
      : unfailing(() => propagation.extract(ROOT_CONTEXT, given), ROOT_CONTEXT);
  return traceApi.setSpanContext(remote, spanContextOf(given));
}

/**
 * The trace context to put into `_meta` and store: in W3C form, as MCP requires, whatever propagators the process has. Undefined without
 * a span.
 */
export function traceContextOf(context: Context): TraceContext | undefined {
  const span = traceApi.getSpanContext(context);
  if (span === undefined || !traceApi.isSpanContextValid(span)) return undefined;
  const { traceId, spanId, traceFlags, traceState } = span;
  const traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
  const tracestate = traceState?.serialize() ?? "";
  return { traceparent, ...(tracestate !== "" && { tracestate }), ...baggageIn(context) };
}

function baggageIn(context: Context): { readonly baggage?: string } {
  if (propagation.getBaggage(context) === undefined) return {};
  const carrier: { baggage?: string } = {};
  unfailing(() => propagation.inject(context, carrier), undefined);
  return carrier.baggage === undefined ? {} : { baggage: carrier.baggage };
}

function spanContextOf({ traceparent, tracestate }: TraceContext): SpanContext {
  return {
    traceId: traceIdOf(traceparent),
    spanId: traceparent.slice(36, 52),
    traceFlags: flagsOf(traceparent) & TraceFlags.SAMPLED,
    isRemote: true,
    ...(tracestate !== undefined && { traceState: createTraceState(tracestate) }),
  };
}

/** The parts of the text have fixed positions. */
export function traceIdOf(traceparent: string): string {
  return traceparent.slice(3, 35);
}

/** Whether the span of its first request was not sampled, or its client chose not to sample. */
export function isLeftOut({ traceparent }: TraceContext): boolean {
  return (flagsOf(traceparent) & TraceFlags.SAMPLED) === 0;
}

function flagsOf(traceparent: string): number {
  return Number.parseInt(traceparent.slice(53, 55), 16);
}

/** Whether spans contain the texts and stacks of errors, which may quote what a caller sent. Their types always stay. */
export type ErrorText = "keep" | "omit";

/** Marks a span as failed, with a type and a message. */
export function failSpan(span: Span, errorType: string, message: string | undefined, text: ErrorText): void {
  span.setAttribute(attribute.errorType, errorType);
  const isShown = text === "keep" && message !== undefined;
  span.setStatus({ code: SpanStatusCode.ERROR, ...(isShown && { message }) });
}

/** Marks a span as failed with a thrown error. */
export function throwInSpan(span: Span, thrown: unknown, text: ErrorText): void {
  const { name, message, code, stack } = eventError(thrown);
  failSpan(span, typeOf(code ?? name), message, text);
  if (text === "omit") return;
  span.recordException({ name, message, ...(stack !== undefined && { stack }) });
}

/** An error's type or code, if it looks like a name: not long, and without quotes from elsewhere. */
function typeOf(name: string | number): string {
  return typeof name === "number" || /^[\w.:/-]{1,100}$/.test(name) ? String(name) : "_OTHER";
}
