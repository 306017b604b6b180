import type { ServerMetrics } from "./metrics.ts";
import type { TaskStore } from "../../store/store.ts";
import type { TaskRecord, TraceContext } from "../../task/record.ts";
import type { InputMethod, JournalEnd, JournalHead, JournalKind } from "../../task/journal.ts";
import type { Clock } from "../clock.ts";
import type { HandlerEnd } from "../tool/tool-outcome.ts";

/**
 * Traces and measures a server: `openTelemetry()` of `holdfast/opentelemetry`. Its members never throw, and nothing waits for them. Without
 * it, nothing is recorded.
 */
export interface ServerTelemetry {
  readonly tracing: ServerTracing;
  readonly metrics: ServerMetrics;
}

/** The trace context of a task; undefined if its request was not traced. */
type TaskTrace = TraceContext | undefined;

const mostTasks = 10_000;

type Traces = Map<string, TaskTrace | Promise<TaskTrace>>;

/** The traces of tasks that this process recently created, ran or was asked about. */
export class TaskTraces {
  readonly #store: Pick<TaskStore, "request">;
  readonly #most: number;
  /** By task, in a newer and an older half. Finding the oldest entry of one large map gets slower with each deletion. */
  #traces: Traces = new Map();
  #older: Traces = new Map();

  constructor(store: Pick<TaskStore, "request">, most = mostTasks) {
    this.#store = store;
    this.#most = most;
  }

  keep(task: string, trace: TaskTrace | Promise<TaskTrace>): void {
    this.#traces.set(task, trace instanceof Promise ? trace : placeOf(trace));
    if (this.#traces.size <= this.#most / 2) return;
    this.#older = this.#traces;
    this.#traces = new Map();
  }

  /** Reads the trace if it is not known; never rejects. Call it only for tasks that the caller may see. */
  of(task: string): TaskTrace | Promise<TaskTrace> {
    const traces = this.#traces.has(task) ? this.#traces : this.#older;
    if (traces.has(task)) return traces.get(task);
    const reading: Promise<TaskTrace> = this.#store.request(task).then(
      (request) => {
        const trace = placeOf(request?.origin.trace);
        this.#holding(task, reading)?.set(task, trace);
        return trace;
      },
      () => {
        this.#holding(task, reading)?.delete(task); // read again for the next request
        return undefined;
      },
    );
    this.keep(task, reading);
    return reading;
  }

  /** The half that keeps a reading, unless there is a newer one. */
  #holding(task: string, reading: Promise<TaskTrace>): Traces | undefined {
    return [this.#traces, this.#older].find((traces) => traces.get(task) === reading);
  }
}

/** Of any task whose trace is not sampled: of thousands, their ids need not be kept. */
const leftOut: TraceContext = { traceparent: `00-${"0".repeat(32)}-${"0".repeat(16)}-00` };

/** Whether the span of the task's first request was not sampled, or its client chose not to sample. */
export function isLeftOut({ traceparent }: TraceContext): boolean {
  return "02468ace".includes(traceparent.charAt(54)); // the last digit of its flags
}

/** Without its baggage, which is for handlers, and which callers may make long. */
function placeOf(trace: TaskTrace): TaskTrace {
  if (trace === undefined) return trace;
  if (isLeftOut(trace)) return leftOut;
  if (trace.baggage === undefined) return trace;
  const { traceparent, tracestate } = trace;
  return { traceparent, ...(tracestate !== undefined && { tracestate }) };
}

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

/** The trace of one run of a handler: its span, and those of what the handler does. None if nothing is traced. */
export class RunTrace {
  readonly #tracing: ServerTracing;
  readonly #of: TracedRun;
  readonly #span: OpenSpan<AttemptOutcome>;
  /** Waits that ended since this time (epoch ms) have no span yet: the previous attempt recorded the earlier ones. */
  readonly #since: number;

  constructor(tracing: ServerTracing, of: TracedRun, since = Infinity) {
    this.#tracing = tracing;
    this.#of = of;
    this.#since = since;
    this.#span = tracing.attempt(of);
  }

  /**
   * For a task that an attempt has begun to run, whose request came with `trace`. Also records the previous attempt if that could not do so
   * itself.
   */
  static ofTask(
    telemetry: ServerTelemetry | undefined,
    task: TaskRecord,
    trace: TraceContext | undefined,
  ): RunTrace | undefined {
    if (telemetry === undefined) return undefined;
    const { tracing } = telemetry;
    const { id: taskId, tool, attempt, parent, attempts } = task;
    const of: TracedRun = { tool, taskId, parentId: parent?.id, attempt, trace };
    const before = attempts.findLast(({ number, endedAt }) => number < attempt && endedAt !== null);
    if (before?.end === "lost" && before.number === attempt - 1)
      tracing.lostAttempt(
        { ...of, attempt: before.number },
        before.startedAt,
        before.endedAt ?? before.startedAt,
      );
    const endedAt = before?.endedAt ?? Infinity;
    // One that threw did so at once after what it waited for, while one that was parked or released had nothing to go on with.
    return new RunTrace(tracing, of, before?.end === "retried" ? endedAt + 1 : endedAt);
  }

  /** Calls `work`; its spans become children of the run's span. */
  run<T>(work: () => T): T {
    return this.#span.run(work);
  }

  /** Runs one try of a step, which has failed `tries` times before. */
  async step<T>(key: string, tries: number, work: () => Promise<T>): Promise<T> {
    const span = this.#tracing.step({ run: this.#of, key, tries }, this.#span);
    try {
      const value = await span.run(work);
      span.end({ threw: false });
      return value;
    } catch (error) {
      span.end({ threw: true, error });
      throw error;
    }
  }

  /** Records a wait when it has ended. If another attempt continues the wait, that attempt records it. */
  async waiting<T extends JournalEnd | void>(
    wait: Omit<TracedWait, "endedAt" | "failed">,
    clock: Pick<Clock, "now">,
    end: Promise<T>,
  ): Promise<T> {
    let failed = true;
    try {
      const ended = await end;
      failed = typeof ended === "object" && ended.error !== null;
      return ended;
    } finally {
      this.#tracing.waited(this.#of, { ...wait, endedAt: clock.now(), failed });
    }
  }

  /** The handler has replayed an entry. If others ended it while no attempt ran, the first attempt that learns of it records it. */
  replayed({ key, kind, method, begunAt, doneAt }: JournalHead, failed: boolean): void {
    if ((kind !== "input" && kind !== "event") || begunAt === null || doneAt === null) return;
    if (doneAt < this.#since) return;
    this.#tracing.waited(this.#of, {
      kind,
      key,
      method: method ?? undefined,
      begunAt,
      endedAt: doneAt,
      failed,
    });
  }

  /** The handler calls another tool. Returns the trace context for that call. */
  called(key: string, tool: string): TraceContext | undefined {
    return this.#tracing.called(this.#of, { key, tool });
  }

  end(outcome: AttemptOutcome): void {
    this.#span.end(outcome);
  }
}

/** What the trace records about a handler that has ended, and whose outcome counts. */
export function attemptOutcome(end: HandlerEnd): AttemptOutcome {
  return {
    end: end.outcome.kind === "result" ? "settled" : "failed",
    ...(end.threw && { error: end.error }),
  };
}

/** The same without a task: what the handler throws because its caller has left is no error. */
export function directOutcome(end: HandlerEnd, caller: AbortSignal): AttemptOutcome {
  return end.threw && caller.aborted ? { end: "cancelled" } : attemptOutcome(end);
}
