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

/** The context in which what a trace context came with goes on. Its baggage is read by the propagator of the process, if there is one. */
export function contextOf(given: TraceContext | undefined): Context {
  if (given === undefined) return ROOT_CONTEXT;
  const remote =
    given.baggage === undefined
      ? ROOT_CONTEXT
      : unfailing(() => propagation.extract(ROOT_CONTEXT, given), ROOT_CONTEXT);
  return traceApi.setSpanContext(remote, spanContextOf(given));
}

/** What goes into `_meta`, and is stored: whatever propagators the process has, MCP has the form of W3C. Undefined where there is no span. */
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

/** The members of the text have fixed places. */
export function traceIdOf(traceparent: string): string {
  return traceparent.slice(3, 35);
}

/** Whether the span of its first request was not sampled, or its client has left it out. */
export function isLeftOut({ traceparent }: TraceContext): boolean {
  return (flagsOf(traceparent) & TraceFlags.SAMPLED) === 0;
}

function flagsOf(traceparent: string): number {
  return Number.parseInt(traceparent.slice(53, 55), 16);
}
