import { isJsonObject, type JsonObject } from "../generation/message.ts";
import type { ClientTracing } from "./client-telemetry.ts";
import { traceContextIn, traceContextKeys, type TraceContext } from "../task/record.ts";

/** The trace context that a message came with. */
export function traceOf(params: JsonObject | undefined): TraceContext | undefined {
  const meta = params?.["_meta"];
  return isJsonObject(meta) ? traceContextIn(meta) : undefined;
}

/** Calls `work` in that trace context, if tracing is on. */
export function inTrace<T>(
  tracing: ClientTracing | undefined,
  trace: TraceContext | undefined,
  work: () => T,
): T {
  return tracing === undefined || trace === undefined ? work() : tracing.within(trace, work);
}

/** The params with another trace context in their `_meta`. */
export function withTrace(params: JsonObject | undefined, trace: TraceContext): JsonObject {
  const meta = params?.["_meta"];
  return { ...params, _meta: { ...(isJsonObject(meta) && meta), ...trace } };
}

/** The params without it, for comparison: a repeated message has a different one. */
export function withoutTrace(params: JsonObject): JsonObject {
  const { _meta: meta, ...others } = params;
  if (!isJsonObject(meta) || !traceContextKeys.some((key) => key in meta)) return params;
  const { traceparent: _, tracestate: __, baggage: ___, ...rest } = meta;
  return Object.keys(rest).length === 0 ? others : { ...others, _meta: rest };
}
