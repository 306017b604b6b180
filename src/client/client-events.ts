import { inThisContext } from "../runtime/own-context.ts";
import type { EndedTask, RemoteTask } from "./task/remote-task.ts";
import { type TaskClientErrorCode, TaskClientError } from "./task-client-error.ts";
import type { ClientClock } from "./clock.ts";
import type { JsonRpcError } from "../task/outcome.ts";
import { type TraceContext, traceContextIn, traceContextKeys } from "../task/record.ts";
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

/**
 * What a client does, for logs and traces, discriminated by `type`. Plain JSON data with kinds and ids, and never arguments, results,
 * answers, tokens or texts of the server. A `callId` identifies one `callTool` or `startTool` of this process; `call_answered` and
 * `task_created` connect it to the task. Without authentication a task's id gives access to the task, so protect such logs like the tasks
 * themselves.
 */
export type ClientEvent = ClientEventData & {
  /** Epoch milliseconds. */
  readonly at: number;
};

/** An event without its time. */
export type ClientEventData =
  ConnectionEvent | CallEvent | TaskEvent | ListeningEvent | QuestionEvent | CancelEvent;

/** The transport of a connection: `http` is Streamable HTTP, and `http+sse` the transport of 2024-11-05. */
export type TransportKind = "http" | "http+sse" | "stdio";

type ConnectionEvent =
  | {
      readonly type: "connected";
      /** The negotiated version of MCP. */
      readonly protocolVersion: string | undefined;
      /** The form of tasks on this connection. */
      readonly generation: string;
      /** Left out for a transport that you passed in. */
      readonly transport?: TransportKind;
    }
  /** Closed by this client (`closed`) or lost (`connection`). Emitted once. */
  | { readonly type: "disconnected"; readonly code: WaitFailure };

interface OfCall {
  readonly callId: string;
  readonly tool: string;
}

type CallEvent =
  /** `attempt` counts from 1 in each round of questions; `repeat`: an earlier attempt may have arrived. */
  | (OfCall & { readonly type: "call_sent"; readonly attempt: number; readonly repeat: boolean })
  /** It is sent again after `retryInMs`. */
  | (OfCall & Failure & { readonly type: "call_delayed"; readonly retryInMs: number })
  | (OfCall & {
      readonly type: "call_answered";
      /** `questions` must be answered before there is a result or a task. */
      readonly answer: "result" | "task" | "questions";
      /** Whether the result has `isError`. */
      readonly isError?: boolean;
      readonly taskId?: string;
    })
  /** There is no answer, or it was an error. An aborted signal has the code `aborted`. */
  | (OfCall & Failure & { readonly type: "call_failed"; readonly code: WaitFailure });

interface OfTask {
  readonly taskId: string;
}

type TaskEvent =
  | (OfTask & OfCall & { readonly type: "task_created" })
  | (OfTask & { readonly type: "task_resumed" })
  /** A new state of the task. */
  | (OfTask & {
      readonly type: "task_seen";
      readonly status: RemoteTask["status"];
      readonly source: "call" | "poll" | "push";
    })
  | (OfTask &
      Failure & {
        readonly type: "poll_failed";
        /** Failures in a row, from 1. */
        readonly failures: number;
        readonly retryInMs: number;
      })
  /** The server answers a poll again, after failures. */
  | (OfTask & { readonly type: "poll_recovered" })
  /** One wait for the task, by `result`, `updates` or `callTool`, has ended. */
  | (OfTask & { readonly type: "wait_ended"; readonly outcome: WaitOutcome });

type ListeningEvent =
  /** A stream now pushes `accepted` of the `asked` tasks. */
  | { readonly type: "listening_opened"; readonly asked: number; readonly accepted: number }
  /** The stream is opened again after `retryInMs`; until then those tasks are polled. */
  | { readonly type: "listening_ended"; readonly retryInMs: number }
  /** The server allows no more streams, or pushes no tasks. */
  | { readonly type: "listening_refused" };

interface OfQuestion {
  /** The server's name for the question. */
  readonly key: string;
  readonly method: string;
  /** The task that asks; `null` before there is one, and for calls that have none. */
  readonly taskId: string | null;
  /** The call that needs the answer first. */
  readonly callId?: string;
}

type QuestionEvent =
  /** The question was passed to `onInput`. */
  | (OfQuestion & { readonly type: "question_asked" })
  /** `onInput` answered; for an elicitation, how. */
  | (OfQuestion & { readonly type: "question_answered"; readonly action?: string })
  /** There is no answer; `effect` says what happens. */
  | (OfQuestion & {
      readonly type: "question_unanswered";
      readonly effect: "cancel_elicitation" | "cancel_task" | "leave_open";
    })
  /** The server withdrew the question, the task ended, or the client closes. */
  | (OfQuestion & { readonly type: "question_withdrawn" })
  /** The server has acknowledged the answer. */
  | (OfQuestion & { readonly type: "answer_sent" })
  | (OfQuestion & Failure & { readonly type: "answer_refused" });

type CancelEvent =
  (OfTask & { readonly type: "cancel_requested" }) | (OfTask & { readonly type: "cancel_acknowledged" });

interface Failure {
  /** The code of the server's JSON-RPC error, if it sent one. */
  readonly rpcCode?: number;
}

type WaitFailure = TaskClientErrorCode | "aborted";

/** The task's end; why the wait failed; or `left`: the caller stopped waiting, with or without its signal. */
export type WaitOutcome = EndedTask["status"] | WaitFailure | "left";

/** Passes events to the host's `onEvent`, and ignores errors that it throws. */
export class ClientEvents {
  readonly #onEvent: ((event: ClientEvent) => unknown) | undefined;
  readonly #clock: Pick<ClientClock, "now">;
  #calls = 0;

  constructor(onEvent: ((event: ClientEvent) => unknown) | undefined, clock: Pick<ClientClock, "now">) {
    this.#onEvent = onEvent && inThisContext(onEvent);
    this.#clock = clock;
  }

  /** An id for one call, unique in this client. */
  nextCallId(): string {
    return `call-${++this.#calls}`;
  }

  emit(event: ClientEventData): void {
    if (this.#onEvent === undefined) return;
    try {
      const returned = this.#onEvent({ at: this.#clock.now(), ...event });
      if (returned instanceof Promise) returned.catch(() => undefined);
    } catch {
      // A failing log must not fail a call or a wait.
    }
  }
}

/** The JSON-RPC code for an event about a failure, if the server sent an error. */
export function rpcCodeOf(error: JsonRpcError | undefined): { readonly rpcCode?: number } {
  return error === undefined ? {} : { rpcCode: error.code };
}

/** The codes of a thrown error for an event. Anything but a TaskClientError is the reason of an aborted signal. */
export function failureOf(error: unknown): {
  readonly code: TaskClientErrorCode | "aborted";
  readonly rpcCode?: number;
} {
  if (!(error instanceof TaskClientError)) return { code: "aborted" };
  return { code: error.code, ...rpcCodeOf(error.error) };
}
