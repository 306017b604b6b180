import type { InputMethod, JournalKind } from "../../task/journal.ts";
import type { TaskTrace } from "./task-traces.ts";
import type { TraceContext } from "../../task/record.ts";

/** Traces what a server does. All times are epoch milliseconds. */
export interface ServerTracing {
  /** Begins the span of a client's request, with its `_meta`. */
  request(request: TracedRequest): RequestSpan;
  /** Begins the span of a run of a handler. If it is not the first run, an earlier one began the trace. */
  attempt(of: TracedRun): OpenSpan<AttemptOutcome>;
  /** Begins the span of one try of a step. `attempt` is the span of its run. */
  step(step: TracedStep, attempt: OpenSpan<AttemptOutcome>): OpenSpan<StepOutcome>;
  /** Records a run whose process died with its span. */
  lostAttempt(of: TracedRun, begunAt: number, lostAt: number): void;
  /** Records a wait of a handler that has ended. */
  waited(of: TracedRun, wait: TracedWait): void;
  /** Records that a task's handler calls another tool. Returns the trace context for the call's task. */
  called(of: TracedRun, call: { readonly key: string; readonly tool: string }): TraceContext | undefined;
}

export interface TracedRequest {
  readonly method: string;
  readonly id: string | number;
  /** The tool, for `tools/call`. */
  readonly tool?: string | undefined;
  readonly protocolVersion?: string | undefined;
  readonly transport: "http" | "stdio";
  /** The trace context of its `_meta`. */
  readonly trace: TraceContext | undefined;
}

/** A running span. A span that is never ended is never exported. */
export interface OpenSpan<Outcome> {
  /** Calls `work`; its spans, also those of libraries, become children of this one. */
  run<T>(work: () => T): T;
  /** Only the first call counts. */
  end(outcome: Outcome): void;
}

export interface RequestSpan extends OpenSpan<RequestOutcome> {
  /** The trace context for everything that the request causes. It is stored with its task. */
  readonly context: TraceContext | undefined;
  /**
   * Sets the task that the request is about. If the client sends no trace context, the request joins the trace of its task; otherwise it is
   * linked to that.
   */
  about(task: { readonly id: string; readonly trace: TaskTrace | Promise<TaskTrace> }): void;
}

export interface RequestOutcome {
  /** The code of a JSON-RPC error. */
  readonly code?: number;
  readonly message?: string;
  /** The tool, for `tools/call`, if only the answer shows that it exists. */
  readonly tool?: string;
  /** The result has `isError`. */
  readonly isToolError?: boolean;
  /** There was no answer: the client cancelled the request, or disconnected. */
  readonly isCancelled?: boolean;
}

/** Identifies a run of a handler. */
export interface TracedRun {
  readonly tool: string;
  /** Left out for a call that is answered without a task. */
  readonly taskId?: string | undefined;
  readonly parentId?: string | undefined;
  /** From 1. */
  readonly attempt: number;
  /** The trace context that the task's request began; undefined if it was not traced. */
  readonly trace: TraceContext | undefined;
}

/** How a run of a handler ended; `lost`: its task was ended or taken by others. */
export interface AttemptOutcome {
  readonly end:
    | "settled"
    | "failed"
    | "cancelled"
    | "parked"
    | "released"
    | "retried"
    | "next_round"
    | "blocked"
    | "lost";
  readonly error?: unknown;
}

export interface TracedStep {
  readonly run: TracedRun;
  readonly key: string;
  /** How often it failed before. */
  readonly tries: number;
}

export interface StepOutcome {
  /** The thrown error; undefined if there is none. */
  readonly error?: unknown;
  readonly threw: boolean;
}

export interface TracedWait {
  readonly kind: Exclude<JournalKind, "step" | "call">;
  readonly key: string;
  /** The method of a question. */
  readonly method?: InputMethod | undefined;
  readonly begunAt: number;
  readonly endedAt: number;
  /** Whether it timed out, or was refused. */
  readonly failed: boolean;
}
