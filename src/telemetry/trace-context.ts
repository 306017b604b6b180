import {
  createTraceState,
  propagation,
  ROOT_CONTEXT,
  trace as traceApi,
  TraceFlags,
  type Context,
  type SpanContext,
} from "@opentelemetry/api";
import type { TraceContext } from "../task/trace-context.ts";
import { unfailing } from "./unfailing.ts";

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
