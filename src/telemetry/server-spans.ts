import {
  context as contextApi,
  SpanKind,
  trace as traceApi,
  type Attributes,
  type Context,
  type Span,
  type Tracer,
  type Histogram,
  type Link,
} from "@opentelemetry/api";
import { stemOf } from "../task/journal.ts";
import type { TraceContext } from "../task/record.ts";
import {
  type AttemptOutcome,
  type OpenSpan,
  type RequestSpan,
  type ServerTracing,
  type StepOutcome,
  type TracedRequest,
  type TracedRun,
  type TracedStep,
  type TracedWait,
  type RequestOutcome,
  isLeftOut,
} from "../runtime/telemetry/telemetry.ts";
import type { SeriesNames } from "./metric.ts";
import {
  attribute,
  failSpan,
  throwInSpan,
  type ErrorText,
  contextOf,
  traceContextOf,
  endSpan,
  startSpanOfTask,
  contextWith,
  traceIdOf,
  startSpan,
} from "./spans.ts";

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
    const span = startSpanOfTask(
      this.#tracer,
      `execute_tool ${of.tool}`,
      () => ({ attributes: ofAttempt(of) }),
      parent,
    );
    const isBegun = span !== traceApi.getSpan(parent);
    return new AttemptSpan(span, isBegun ? contextWith(span, parent) : parent, this.#errorText);
  }

  step({ run, key, tries }: TracedStep, attempt: OpenSpan<AttemptOutcome>): OpenSpan<StepOutcome> {
    const parent = this.#around(run, attempt);
    const attributes = (): Attributes => ({
      ...attributesOf(run),
      [attribute.key]: key,
      [attribute.tries]: tries,
    });
    const span = startSpanOfTask(
      this.#tracer,
      `step ${stemOf(key)}`,
      () => ({ attributes: attributes() }),
      parent,
    );
    const errorText = this.#errorText;
    return {
      run: (work) => contextApi.with(contextWith(span, parent), work),
      end: ({ threw, error }) => {
        if (threw) throwInSpan(span, error, errorText);
        endSpan(span);
      },
    };
  }

  lostAttempt(of: TracedRun, begunAt: number, lostAt: number): void {
    const span = startSpanOfTask(
      this.#tracer,
      `execute_tool ${of.tool}`,
      () => ({ attributes: ofAttempt(of), startTime: begunAt }),
      contextOf(of.trace),
    );
    span.setAttribute(attribute.attemptEnd, "lost" satisfies AttemptOutcome["end"]);
    failSpan(span, "process_lost", "The process that ran it is gone.", "keep");
    endSpan(span, lostAt);
  }

  waited(of: TracedRun, { kind, key, method, begunAt, endedAt, failed }: TracedWait): void {
    const name = kind === "input" ? (method ?? "question") : kind === "sleep" ? "sleep" : "wait_for_event";
    const attributes = (): Attributes => ({
      ...attributesOf(of),
      [attribute.key]: key,
      ...(method !== undefined && { [attribute.method]: method }),
    });
    // A question is a request from the server to the client.
    const span = startSpanOfTask(
      this.#tracer,
      name,
      () => ({
        attributes: attributes(),
        startTime: begunAt,
        kind: kind === "input" ? SpanKind.CLIENT : SpanKind.INTERNAL,
      }),
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
    const span = startSpanOfTask(
      this.#tracer,
      `call_tool ${tool}`,
      () => ({
        attributes: { ...attributesOf(of), [attribute.tool]: tool, [attribute.key]: key },
        kind: SpanKind.PRODUCER,
      }),
      parent,
    );
    endSpan(span); // what follows from it becomes its child, in whichever process
    return traceContextOf(contextWith(span, parent));
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

function ofAttempt(of: TracedRun): Attributes {
  return { ...attributesOf(of), [attribute.operation]: "execute_tool" };
}

function attributesOf({ tool, taskId, parentId, attempt }: TracedRun): Attributes {
  return {
    [attribute.tool]: tool,
    [attribute.attempt]: attempt,
    ...(taskId !== undefined && { [attribute.taskId]: taskId }),
    ...(parentId !== undefined && { [attribute.parentId]: parentId }),
  };
}

interface RequestSpansSetup {
  readonly tracer: Tracer;
  readonly errorText: ErrorText;
  readonly names: SeriesNames;
  /** `mcp.server.operation.duration`, in seconds. */
  readonly duration: Histogram;
}

/** The spans of requests that a server answers, and their durations. */
class RequestSpans {
  readonly #setup: OneRequestSetup;

  constructor(setup: RequestSpansSetup) {
    this.#setup = { ...setup, known: new KnownRequests(setup.names) };
  }

  begin(request: TracedRequest): RequestSpan {
    return new OneRequest(request, this.#setup);
  }
}

/** One request. A span cannot change its parent, so the span of a request about a task begins once its trace is known. */
class OneRequest implements RequestSpan {
  readonly context: TraceContext | undefined;
  readonly #setup: OneRequestSetup;
  readonly #request: TracedRequest;
  readonly #known: KnownRequest;
  /** Relative to the start of the process, as OpenTelemetry expects. */
  readonly #begunAt = performance.now();
  /** The context that is active when the request arrives: a span of the web framework, if there is one. */
  readonly #ambient: Context = contextApi.active();
  /** Undefined before it begins. */
  #span: Span | undefined;
  /** Undefined if nothing runs within it. */
  #within: Context | undefined;
  #task: Parameters<RequestSpan["about"]>[0] | undefined;
  #ended = false;

  constructor(request: TracedRequest, setup: OneRequestSetup) {
    this.#request = request;
    this.#setup = setup;
    this.#known = setup.known.of(request);
    if (request.trace === undefined && request.method.startsWith("tasks/")) return;
    const parent = this.#parentOf(request.trace);
    this.#span = this.#begin(request.trace, parent);
    this.#within = contextWith(this.#span, parent);
    this.context = traceContextOf(this.#within);
  }

  run<T>(work: () => T): T {
    return this.#within === undefined ? work() : contextApi.with(this.#within, work);
  }

  about(task: Parameters<RequestSpan["about"]>[0]): void {
    this.#task = task;
  }

  end(outcome: RequestOutcome): void {
    if (this.#ended) return;
    this.#ended = true;
    const endedAt = performance.now();
    const trace = this.#task?.trace;
    if (trace instanceof Promise) void trace.then((read) => this.#finish(outcome, endedAt, read));
    else this.#finish(outcome, endedAt, trace);
  }

  #finish(outcome: RequestOutcome, endedAt: number, taskTrace: TraceContext | undefined): void {
    const errorType = errorTypeOf(outcome);
    if (this.#span !== undefined || taskTrace === undefined || !isLeftOut(taskTrace))
      this.#emit(outcome, errorType, endedAt, taskTrace);
    this.#setup.duration.record((endedAt - this.#begunAt) / 1_000, this.#measuredOf(outcome.tool, errorType));
  }

  #emit(
    outcome: RequestOutcome,
    errorType: string | undefined,
    endedAt: number,
    taskTrace: TraceContext | undefined,
  ): void {
    if (this.#span !== undefined && taskTrace !== undefined) linkTo(this.#span, taskTrace);
    const span = this.#span ?? this.#begin(taskTrace, this.#parentOf(taskTrace));
    if (!span.isRecording()) return;
    const { code, message, isCancelled, tool } = outcome;
    if (this.#task !== undefined) span.setAttribute(attribute.taskId, this.#task.id);
    if (tool !== undefined) span.updateName(nameOf(this.#request, tool)).setAttributes(ofTool(tool));
    if (code !== undefined) span.setAttribute(attribute.statusCode, String(code));
    // A caller that cancels or disconnects is not an error.
    if (isCancelled === true) span.setAttribute(attribute.errorType, "cancelled");
    else if (errorType !== undefined) failSpan(span, errorType, message, this.#setup.errorText);
    endSpan(span, endedAt);
  }

  /** Usually the attributes known from the start: many requests are measured. */
  #measuredOf(tool: string | undefined, errorType: string | undefined): Attributes {
    const { measured } = this.#known;
    if (tool === undefined && errorType === undefined) return measured;
    return {
      ...measured,
      ...(tool !== undefined && ofTool(this.#setup.names.of(tool))),
      ...(errorType !== undefined && { [attribute.errorType]: errorType }),
    };
  }

  /** Begins the span, from the time the request arrived, in the trace of its client or of its task. */
  #begin(own: TraceContext | undefined, parent: Context): Span {
    const ambient = traceApi.getSpanContext(this.#ambient);
    const links: Link[] = own === undefined || ambient === undefined ? [] : [{ context: ambient }];
    const { id, transport } = this.#request;
    const { tracer } = this.#setup;
    // The rest follows if it is recorded: an SDK looks at each attribute closely.
    const { sampledBy: attributes, measured } = this.#known;
    const options = { attributes, links, kind: SpanKind.SERVER, startTime: this.#begunAt };
    const span = startSpan(tracer, nameOf(this.#request), options, parent);
    if (span.isRecording())
      span.setAttributes({
        ...measured,
        ...attributes,
        [attribute.requestId]: String(id).slice(0, longestId),
        ...(transport === "http" && { [attribute.networkProtocol]: "http" }),
      });
    return span;
  }

  #parentOf(own: TraceContext | undefined): Context {
    return own === undefined ? this.#ambient : contextOf(own);
  }
}

/** Clients choose the ids of their requests. */
const longestId = 100;

/** Links a request with its own trace to the task's trace, if that exists. */
function linkTo(span: Span, trace: TraceContext): void {
  if (isLeftOut(trace) || traceIdOf(trace.traceparent) === span.spanContext().traceId) return;
  const context = traceApi.getSpanContext(contextOf(trace));
  if (context !== undefined) span.addLink({ context });
}

function nameOf({ method, tool }: TracedRequest, called = tool): string {
  return called === undefined ? method : `${method} ${called}`;
}

function ofTool(tool: string): Attributes {
  return { [attribute.tool]: tool, [attribute.operation]: "execute_tool" };
}

interface OneRequestSetup extends RequestSpansSetup {
  readonly known: KnownRequests;
}

interface KnownRequest extends Pick<TracedRequest, "method" | "tool" | "protocolVersion" | "transport"> {
  /** The attributes of its duration. */
  readonly measured: Attributes;
  /** The attributes of its span that samplers decide by. */
  readonly sampledBy: Attributes;
}

/** What is the same for many requests is made once; metrics tell few tools apart, and the spans of others have attributes of their own. */
class KnownRequests {
  readonly #names: SeriesNames;
  /** By their methods. */
  readonly #known = new Map<string, KnownRequest[]>();

  constructor(names: SeriesNames) {
    this.#names = names;
  }

  of({ method, tool: called, protocolVersion, transport }: TracedRequest): KnownRequest {
    const tool = called === undefined ? undefined : this.#names.of(called);
    let known = this.#known.get(method);
    if (known === undefined) this.#known.set(method, (known = []));
    let request = known.find(
      (each) =>
        each.tool === tool && each.protocolVersion === protocolVersion && each.transport === transport,
    );
    if (request === undefined) {
      const sampledBy = { [attribute.method]: method, ...(tool !== undefined && ofTool(tool)) };
      const measured = {
        ...sampledBy,
        [attribute.transport]: transport === "http" ? "tcp" : "pipe",
        ...(protocolVersion !== undefined && { [attribute.protocolVersion]: protocolVersion }),
      };
      known.push((request = { method, tool, protocolVersion, transport, measured, sampledBy }));
    }
    if (called === tool || called === undefined) return request;
    return { ...request, sampledBy: { ...request.sampledBy, ...ofTool(called) } };
  }
}

function errorTypeOf({ code, isToolError, isCancelled }: RequestOutcome): string | undefined {
  if (isCancelled === true) return "cancelled";
  if (code !== undefined) return String(code);
  return isToolError === true ? "tool_error" : undefined;
}
