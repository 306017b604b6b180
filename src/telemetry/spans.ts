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
import { isLeftOut } from "../runtime/telemetry/telemetry.ts";
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
  try {
    return tracer.startSpan(name, options, parent);
  } catch (error) {
    failed(error);
    return traceApi.wrapSpanContext(traceApi.getSpanContext(parent) ?? INVALID_SPAN_CONTEXT);
  }
}

/**
 * The same for a span of a task. The span of the task's first request decides whether the trace is sampled: if not, no span begins, and
 * its would-be children continue in the parent's context.
 */
export function startSpanOfTask(
  tracer: Tracer,
  name: string,
  options: () => SpanOptions,
  parent: Context,
): Span {
  const above = traceApi.getSpan(parent);
  const leftOut = above !== undefined && (above.spanContext().traceFlags & TraceFlags.SAMPLED) === 0;
  return leftOut && !above.isRecording() ? above : startSpan(tracer, name, options(), parent);
}

export function endSpan(span: Span, at?: TimeInput): void {
  try {
    span.end(at);
  } catch (error) {
    failed(error);
  }
}

/**
 * A context that shares the values of its parent. That of OpenTelemetry's API copies all values for each that is set, and tasks begin
 * contexts all the time. Each key is in it once: code that begins the next context within the last one can do so for ever.
 */
class LinkedContext implements Context {
  readonly #parent: Context;
  readonly #key: symbol | undefined;
  readonly #value: unknown;

  constructor(parent: Context, key?: symbol, value?: unknown) {
    this.#parent = parent;
    this.#key = key;
    this.#value = value;
  }

  getValue(key: symbol): unknown {
    return key === this.#key ? this.#value : this.#parent.getValue(key);
  }

  setValue(key: symbol, value: unknown): Context {
    return new LinkedContext(this.#without(key), key, value);
  }

  deleteValue(key: symbol): Context {
    return new LinkedContext(this.#without(key), key);
  }

  /** Without the link that sets the key. */
  #without(key: symbol): Context {
    const parent = this.#parent;
    if (key === this.#key) return parent;
    const others = parent instanceof LinkedContext ? parent.#without(key) : parent;
    return others === parent ? this : new LinkedContext(others, this.#key, this.#value);
  }
}

const root = new LinkedContext(ROOT_CONTEXT);

/** The parent context with the span in it. */
export function contextWith(span: Span, parent: Context): Context {
  return traceApi.setSpan(parent instanceof LinkedContext ? parent : new LinkedContext(parent), span);
}

/** The OpenTelemetry context for a trace context. The process's propagator, if there is one, reads its baggage. */
export function contextOf(given: TraceContext | undefined): Context {
  if (given === undefined) return ROOT_CONTEXT;
  const remote =
    given.baggage === undefined ? root : unfailing(() => propagation.extract(ROOT_CONTEXT, given), root);
  return contextWith(traceApi.wrapSpanContext(spanContextOf(given)), remote);
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

function spanContextOf(given: TraceContext): SpanContext {
  const { traceparent, tracestate } = given;
  return {
    traceId: traceIdOf(traceparent),
    spanId: traceparent.slice(36, 52),
    traceFlags: isLeftOut(given) ? TraceFlags.NONE : TraceFlags.SAMPLED,
    isRemote: true,
    ...(tracestate !== undefined && { traceState: createTraceState(tracestate) }),
  };
}

/** The parts of the text have fixed positions. */
export function traceIdOf(traceparent: string): string {
  return traceparent.slice(3, 35);
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
