import {
  context as contextApi,
  SpanKind,
  trace as traceApi,
  type Attributes,
  type Context,
  type Histogram,
  type Link,
  type Span,
  type Tracer,
} from "@opentelemetry/api";
import type { TraceContext } from "../task/trace-context.ts";
import type { RequestOutcome, RequestSpan, TracedRequest } from "../runtime/telemetry/tracing.ts";
import { attribute } from "./attributes.ts";
import { failSpan, type ErrorText } from "./span-errors.ts";
import { contextOf, isLeftOut, traceContextOf, traceIdOf } from "./trace-context.ts";
import { endSpan, startSpan } from "./unfailing.ts";

export interface RequestSpansSetup {
  readonly tracer: Tracer;
  readonly errorText: ErrorText;
  /** `mcp.server.operation.duration`, in seconds. */
  readonly duration: Histogram;
}

/** The spans of requests that a server answers, and their durations. */
export class RequestSpans {
  readonly #setup: OneRequestSetup;

  constructor(setup: RequestSpansSetup) {
    this.#setup = { ...setup, measured: new Measured() };
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
  readonly #measured: Attributes;
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
    this.#measured = setup.measured.of(request);
    if (request.trace === undefined && request.method.startsWith("tasks/")) return;
    const parent = this.#parentOf(request.trace);
    this.#span = this.#begin(request.trace, parent);
    this.#within = traceApi.setSpan(parent, this.#span);
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
      this.#tell(outcome, errorType, endedAt, taskTrace);
    this.#setup.duration.record((endedAt - this.#begunAt) / 1_000, this.#measuredOf(outcome.tool, errorType));
  }

  #tell(
    outcome: RequestOutcome,
    errorType: string | undefined,
    endedAt: number,
    taskTrace: TraceContext | undefined,
  ): void {
    if (this.#span !== undefined && taskTrace !== undefined) linkTo(this.#span, taskTrace);
    const span = this.#span ?? this.#begin(taskTrace, this.#parentOf(taskTrace));
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
    if (tool === undefined && errorType === undefined) return this.#measured;
    return {
      ...this.#measured,
      ...(tool !== undefined && ofTool(tool)),
      ...(errorType !== undefined && { [attribute.errorType]: errorType }),
    };
  }

  /** Begins the span, from the time the request arrived, in the trace of its client or of its task. */
  #begin(own: TraceContext | undefined, parent: Context): Span {
    const ambient = traceApi.getSpanContext(this.#ambient);
    const links: Link[] = own === undefined || ambient === undefined ? [] : [{ context: ambient }];
    const attributes: Attributes = {
      ...this.#measured,
      [attribute.requestId]: String(this.#request.id).slice(0, longestId),
      ...(this.#request.transport === "http" && { [attribute.networkProtocol]: "http" }),
    };
    const options = { attributes, links, kind: SpanKind.SERVER, startTime: this.#begunAt };
    return startSpan(this.#setup.tracer, nameOf(this.#request), options, parent);
  }

  #parentOf(own: TraceContext | undefined): Context {
    return own === undefined ? this.#ambient : contextOf(own);
  }
}

/** Clients choose the ids of their requests. */
const longestId = 100;

/** Links a request with its own trace to the task's trace. */
function linkTo(span: Span, trace: TraceContext): void {
  if (traceIdOf(trace.traceparent) === span.spanContext().traceId) return;
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
  readonly measured: Measured;
}

/** The attributes of request durations: each has few values, and is created once. */
class Measured {
  readonly #known = new Map<string, Attributes>();

  of({ method, tool, protocolVersion, transport }: TracedRequest): Attributes {
    const key = `${method} ${protocolVersion} ${transport} ${tool}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const made = {
      [attribute.method]: method,
      [attribute.transport]: transport === "http" ? "tcp" : "pipe",
      ...(tool !== undefined && ofTool(tool)),
      ...(protocolVersion !== undefined && { [attribute.protocolVersion]: protocolVersion }),
    };
    this.#known.set(key, made);
    return made;
  }
}

function errorTypeOf({ code, isToolError, isCancelled }: RequestOutcome): string | undefined {
  if (isCancelled === true) return "cancelled";
  if (code !== undefined) return String(code);
  return isToolError === true ? "tool_error" : undefined;
}
