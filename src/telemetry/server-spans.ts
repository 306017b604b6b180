import {
  context as contextApi,
  SpanKind,
  trace as traceApi,
  type Attributes,
  type Context,
  type Span,
  type Tracer,
} from "@opentelemetry/api";
import type { JournalKey } from "../task/journal.ts";
import type { TraceContext } from "../task/trace-context.ts";
import type {
  AttemptOutcome,
  OpenSpan,
  RequestSpan,
  ServerTracing,
  StepOutcome,
  TracedRequest,
  TracedRun,
  TracedStep,
  TracedWait,
} from "../runtime/telemetry/tracing.ts";
import { attribute } from "./attributes.ts";
import { RequestSpans, type RequestSpansSetup } from "./request-spans.ts";
import { failSpan, throwInSpan, type ErrorText } from "./span-errors.ts";
import { contextOf, traceContextOf } from "./trace-context.ts";
import { endSpan, startSpanOfTask } from "./unfailing.ts";

/**
 * The spans of a server. Spans of a task are children of the span of the request that created it, which does not wait for the task. They
 * are not children of an attempt's span: that is lost if the process dies, but what the attempt did stays in the trace.
 */
export class ServerSpans implements ServerTracing {
  readonly #tracer: Tracer;
  readonly #errorText: ErrorText;
  readonly #requests: RequestSpans;

  constructor(setup: RequestSpansSetup) {
    this.#tracer = setup.tracer;
    this.#errorText = setup.errorText;
    this.#requests = new RequestSpans(setup);
  }

  request(request: TracedRequest): RequestSpan {
    return this.#requests.begin(request);
  }

  attempt(of: TracedRun): OpenSpan<AttemptOutcome> {
    const parent = contextOf(of.trace);
    const span = startSpanOfTask(this.#tracer, `execute_tool ${of.tool}`, attemptOptions(of), parent);
    const isBegun = span !== traceApi.getSpan(parent);
    return new AttemptSpan(span, isBegun ? traceApi.setSpan(parent, span) : parent, this.#errorText);
  }

  step({ run, key, tries }: TracedStep, attempt: OpenSpan<AttemptOutcome>): OpenSpan<StepOutcome> {
    const parent = this.#around(run, attempt);
    const attributes = { ...attributesOf(run), [attribute.key]: key, [attribute.tries]: tries };
    const span = startSpanOfTask(this.#tracer, `step ${stemOf(key)}`, { attributes }, parent);
    const errorText = this.#errorText;
    return {
      run: (work) => contextApi.with(traceApi.setSpan(parent, span), work),
      end: ({ threw, error }) => {
        if (threw) throwInSpan(span, error, errorText);
        endSpan(span);
      },
    };
  }

  lostAttempt(of: TracedRun, begunAt: number, lostAt: number): void {
    const options = { ...attemptOptions(of), startTime: begunAt };
    const span = startSpanOfTask(this.#tracer, `execute_tool ${of.tool}`, options, contextOf(of.trace));
    span.setAttribute(attribute.attemptEnd, "lost" satisfies AttemptOutcome["end"]);
    failSpan(span, "process_lost", "The process that ran it is gone.", "keep");
    endSpan(span, lostAt);
  }

  waited(of: TracedRun, { kind, key, method, begunAt, endedAt, failed }: TracedWait): void {
    const name = kind === "input" ? (method ?? "question") : kind === "sleep" ? "sleep" : "wait_for_event";
    const attributes = {
      ...attributesOf(of),
      [attribute.key]: key,
      ...(method !== undefined && { [attribute.method]: method }),
    };
    // A question is a request from the server to the client.
    const span = startSpanOfTask(
      this.#tracer,
      name,
      { attributes, startTime: begunAt, kind: kind === "input" ? SpanKind.CLIENT : SpanKind.INTERNAL },
      contextOf(of.trace),
    );
    if (failed) failSpan(span, "unanswered", undefined, "omit");
    endSpan(span, endedAt);
  }

  called(
    of: TracedRun,
    { key, tool }: { readonly key: string; readonly tool: string },
  ): TraceContext | undefined {
    const parent = contextOf(of.trace);
    const attributes = { ...attributesOf(of), [attribute.tool]: tool, [attribute.key]: key };
    const span = startSpanOfTask(
      this.#tracer,
      `call_tool ${tool}`,
      { attributes, kind: SpanKind.PRODUCER },
      parent,
    );
    endSpan(span); // what follows from it becomes its child, in whichever process
    return traceContextOf(traceApi.setSpan(parent, span));
  }

  /**
   * The parent context for something in the run: a span that the author opened in the handler, or the request's span. If the request was
   * not traced, the run's span.
   */
  #around({ trace }: TracedRun, attempt: OpenSpan<AttemptOutcome>): Context {
    const active = traceApi.getSpan(contextApi.active());
    if (!(attempt instanceof AttemptSpan)) return contextOf(trace);
    if (active !== undefined && attempt.isAround(active)) return contextApi.active();
    return trace === undefined ? attempt.context : contextOf(trace);
  }
}

/** The span of a run of a handler. */
class AttemptSpan implements OpenSpan<AttemptOutcome> {
  readonly context: Context;
  readonly #span: Span;
  readonly #errorText: ErrorText;
  #ended = false;

  constructor(span: Span, context: Context, errorText: ErrorText) {
    this.#span = span;
    this.context = context;
    this.#errorText = errorText;
  }

  run<T>(work: () => T): T {
    return contextApi.with(this.context, work);
  }

  end({ end, error }: AttemptOutcome): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#span.setAttribute(attribute.attemptEnd, end);
    if (error !== undefined) throwInSpan(this.#span, error, this.#errorText);
    else if (end === "failed") failSpan(this.#span, "tool_error", undefined, "omit");
    endSpan(this.#span);
  }

  /** Whether a span that is active in the handler was begun by it. */
  isAround(active: Span): boolean {
    const own = this.#span.spanContext();
    const { traceId, spanId } = active.spanContext();
    return traceId === own.traceId && spanId !== own.spanId;
  }
}

function attemptOptions(of: TracedRun): { readonly attributes: Attributes } {
  return { attributes: { ...attributesOf(of), [attribute.operation]: "execute_tool" } };
}

function attributesOf({ tool, taskId, parentId, attempt }: TracedRun): Attributes {
  return {
    [attribute.tool]: tool,
    [attribute.attempt]: attempt,
    ...(taskId !== undefined && { [attribute.taskId]: taskId }),
    ...(parentId !== undefined && { [attribute.parentId]: parentId }),
  };
}

/**
 * The common name of similar steps: there should be few span names. A key that is a single text may look like the encoded form of a list.
 */
function stemOf(key: string): string {
  if (!key.startsWith("[")) return key;
  try {
    const [first] = JSON.parse(key) as JournalKey;
    return first === undefined ? key : String(first);
  } catch {
    return key;
  }
}
