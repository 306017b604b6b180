import { type TraceContext, traceContextIn, traceContextKeys } from "../task/record.ts";
import type { WaitOutcome } from "./client-events.ts";
import { isJsonObject, type JsonObject } from "../generation/message.ts";

/**
 * Traces and measures a client: `openTelemetry()` of `holdfast/opentelemetry`. Its members never throw, and nothing waits for them. Without
 * it, nothing is recorded, and nothing is added to requests.
 */
export interface ClientTelemetry {
  readonly client: ClientTracing;
}

export interface ClientTracing {
  /** Begins the span of a request that is sent now, as a child of the request's own context, or else of the active one. */
  request(request: TracedClientRequest): ClientRequestSpan;
  /** Begins the span of a wait for a task, as a child of the active context. */
  wait(wait: TracedClientWait): ClientWaitSpan;
  /** Calls `work` in the trace context of a message from the server. */
  within<T>(trace: TraceContext, work: () => T): T;
  /** Calls `work`, which serves many callers, outside of their spans. */
  apart<T>(work: () => T): T;
}

/** The server of a connection. */
export interface TracedPeer {
  /** Left out for a transport that you passed in. */
  readonly transport?: "http" | "stdio";
  readonly address?: string;
  readonly port?: number;
}

export interface TracedClientRequest {
  readonly method: string;
  readonly id: string | number;
  /** The tool, for `tools/call`. */
  readonly tool?: string | undefined;
  /** The prompt, for `prompts/get`. */
  readonly prompt?: string | undefined;
  /** The task that it is about. */
  readonly taskId?: string | undefined;
  readonly peer: TracedPeer;
  /** Left out before it was negotiated. */
  readonly protocolVersion?: string | undefined;
  /** The trace context already in its `_meta`. */
  readonly trace: TraceContext | undefined;
}

export interface ClientRequestSpan {
  /** The trace context for the server; it goes into `_meta`. */
  readonly context: TraceContext | undefined;
  /** Calls `work`; its spans, also those of libraries, become children of this one. */
  run<T>(work: () => T): T;
  /** Only the first call counts. */
  end(outcome: ClientRequestOutcome): void;
}

/** How a request ended. Default: with a result. */
export interface ClientRequestOutcome {
  /** The task that the answer names. */
  readonly taskId?: string | undefined;
  /** The result has `isError`. */
  readonly isToolError?: boolean;
  /** The code of a JSON-RPC error. */
  readonly code?: number;
  readonly message?: string;
  /** There is no valid answer; `message` says why. */
  readonly failure?: "connection" | "unauthorized" | "protocol";
  /** The caller no longer waits for the answer. */
  readonly isCancelled?: boolean;
}

export interface TracedClientWait {
  readonly taskId: string;
  /** The tool that the task runs, if the client knows it. */
  readonly tool: string | undefined;
  /** The wait for the same task whose polls this one shares. */
  readonly beside: ClientWaitSpan | undefined;
}

export interface ClientWaitSpan {
  /** Calls `work`, which is done for this wait. */
  run<T>(work: () => T): T;
  /** `tool` is as in `TracedClientWait`; `isToolError`: the task has a result with `isError`. */
  end(end: {
    readonly outcome: WaitOutcome;
    readonly tool: string | undefined;
    readonly isToolError: boolean;
  }): void;
}

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
