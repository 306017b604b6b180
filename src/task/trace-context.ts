/** A W3C Trace Context, as `_meta` carries it and a task stores it. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string;
  readonly baggage?: string;
}

/** The keys of `_meta` that carry it. */
export const traceContextKeys = ["traceparent", "tracestate", "baggage"] as const;

/** Versions after 00 may append more fields. */
const traceparentForm =
  /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:-[\da-f-]{0,100})?$/;
/** The length that W3C requires to be propagated at least, in bytes; stored with each task. */
const longestTracestate = 512;
const longestBaggage = 8_192;

/** The trace context in a request's `_meta`; undefined if it is missing or invalid. */
export function traceContextIn(meta: Readonly<Record<string, unknown>>): TraceContext | undefined {
  const { traceparent, tracestate, baggage } = meta;
  if (typeof traceparent !== "string" || !traceparentForm.test(traceparent)) return undefined;
  return {
    traceparent,
    ...(isShort(tracestate, longestTracestate) && { tracestate }),
    ...(isShort(baggage, longestBaggage) && { baggage }),
  };
}

function isShort(value: unknown, most: number): value is string {
  return typeof value === "string" && value.length <= most;
}
