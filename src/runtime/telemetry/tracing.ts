import type { InputMethod } from "../../task/input.ts";
import type { JournalKind } from "../../task/journal.ts";
import type { TaskTrace } from "./task-traces.ts";
import type { TraceContext } from "../../task/trace-context.ts";

/** Traces what a server does. All times are epoch milliseconds. */
export interface ServerTracing {
  /** Begins the span of a request that a client has sent, with the `_meta` that it has. */
  request(request: TracedRequest): RequestSpan;
  /** Begins the span of a run of a handler, which an earlier one began where it is not the first. */
  attempt(of: TracedRun): OpenSpan<AttemptOutcome>;
  /** Begins the span of one try of a step. `attempt` is the span of the run that it belongs to. */
  step(step: TracedStep, attempt: OpenSpan<AttemptOutcome>): OpenSpan<StepOutcome>;
  /** Tells of a run whose process died with its span. */
  lostAttempt(of: TracedRun, begunAt: number, lostAt: number): void;
  /** Tells of a wait of a handler that is over. */
  waited(of: TracedRun, wait: TracedWait): void;
  /** Tells that the handler of a task calls another tool: where the trace goes on for the task of the call. */
  called(of: TracedRun, call: { readonly key: string; readonly tool: string }): TraceContext | undefined;
}

export interface TracedRequest {
  readonly method: string;
  readonly id: string | number;
  /** Of `tools/call`: the tool. */
  readonly tool?: string | undefined;
  readonly protocolVersion?: string | undefined;
  readonly transport: "http" | "stdio";
  /** The trace context of its `_meta`. */
  readonly trace: TraceContext | undefined;
}

/** A span that is under way; one that is never ended is never seen. */
export interface OpenSpan<Outcome> {
  /** Calls `work`, whose own spans, also those of libraries, stand below this one. */
  run<T>(work: () => T): T;
  /** Only the first call counts. */
  end(outcome: Outcome): void;
}

export interface RequestSpan extends OpenSpan<RequestOutcome> {
  /** Where the trace goes on for what the request makes happen; to be stored with its task. */
  readonly context: TraceContext | undefined;
  /**
   * Says which task the request is about. A request whose client sends no trace context of its own belongs to the trace of its task; one with another is
   * linked to that.
   */
  about(task: { readonly id: string; readonly trace: TaskTrace | Promise<TaskTrace> }): void;
}

export interface RequestOutcome {
  /** Of a JSON-RPC error. */
  readonly code?: number;
  readonly message?: string;
  /** Of `tools/call`: the tool, where only the answer tells that there is such a one. */
  readonly tool?: string;
  /** A result of a tool with `isError`. */
  readonly isToolError?: boolean;
  /** There was no answer: the client has cancelled the request, or is gone. */
  readonly isCancelled?: boolean;
}

/** Which run of a handler. */
export interface TracedRun {
  readonly tool: string;
  /** Left out for a call that is answered without a task. */
  readonly taskId?: string | undefined;
  readonly parentId?: string | undefined;
  /** From 1 on. */
  readonly attempt: number;
  /** Where the trace goes on that the task's request began; undefined where nothing traced that. */
  readonly trace: TraceContext | undefined;
}

/** How a run of a handler ended; `lost`: its task was ended or taken by others. */
export interface AttemptOutcome {
  readonly end: "settled" | "failed" | "cancelled" | "parked" | "released" | "retried" | "lost";
  readonly error?: unknown;
}

export interface TracedStep {
  readonly run: TracedRun;
  readonly key: string;
  /** How often it has failed before. */
  readonly tries: number;
}

export interface StepOutcome {
  /** What it threw, if it did; else undefined. */
  readonly error?: unknown;
  readonly threw: boolean;
}

export interface TracedWait {
  readonly kind: Exclude<JournalKind, "step" | "call">;
  readonly key: string;
  /** Of a question. */
  readonly method?: InputMethod | undefined;
  readonly begunAt: number;
  readonly endedAt: number;
  /** Whether it was given up, or refused. */
  readonly failed: boolean;
}
