import type { TraceContext } from "../task/trace-context.ts";
import type { WaitOutcome } from "./client-events.ts";

/**
 * What a client is traced and measured with: `openTelemetry()` of `holdfast/opentelemetry`. Nothing of it throws, or is waited for. Where there is
 * none, nothing is made of what happens, and nothing is added to what is sent.
 */
export interface ClientTelemetry {
  readonly client: ClientTracing;
}

export interface ClientTracing {
  /** Begins the span of a request that is sent now: below the context that it brings along, else below what is active. */
  request(request: TracedClientRequest): ClientRequestSpan;
  /** Begins the span of a wait for a task, below what is active. */
  wait(wait: TracedClientWait): ClientWaitSpan;
  /** Calls `work` where the trace goes on that a message of the server came with. */
  within<T>(trace: TraceContext, work: () => T): T;
  /** Calls `work`, which goes on for many callers, below none of them. */
  apart<T>(work: () => T): T;
}

/** The server of a connection. */
export interface TracedPeer {
  /** Left out for a transport that was given. */
  readonly transport?: "http" | "stdio";
  readonly address?: string;
  readonly port?: number;
}

export interface TracedClientRequest {
  readonly method: string;
  readonly id: string | number;
  /** Of `tools/call`: the tool. */
  readonly tool?: string | undefined;
  /** Of `prompts/get`: the prompt. */
  readonly prompt?: string | undefined;
  /** The task that it is about. */
  readonly taskId?: string | undefined;
  readonly peer: TracedPeer;
  /** Left out before it was agreed on. */
  readonly protocolVersion?: string | undefined;
  /** The trace context that its `_meta` has already. */
  readonly trace: TraceContext | undefined;
}

export interface ClientRequestSpan {
  /** Where the trace goes on for the server; goes into `_meta`. */
  readonly context: TraceContext | undefined;
  /** Calls `work`, whose own spans, also those of libraries, stand below this one. */
  run<T>(work: () => T): T;
  /** Only the first call counts. */
  end(outcome: ClientRequestOutcome): void;
}

/** How a request ended: with a result, unless it says otherwise. */
export interface ClientRequestOutcome {
  /** The task that the answer names. */
  readonly taskId?: string | undefined;
  /** A result of a tool with `isError`. */
  readonly isToolError?: boolean;
  /** Of a JSON-RPC error. */
  readonly code?: number;
  readonly message?: string;
  /** There is no valid answer; `message` says why. */
  readonly failure?: "connection" | "unauthorized" | "protocol";
  /** Nobody waits for the answer any more. */
  readonly isCancelled?: boolean;
}

export interface TracedClientWait {
  readonly taskId: string;
  /** What the task runs, as far as the client knows it. */
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
