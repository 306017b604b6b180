import {
  context as contextApi,
  ROOT_CONTEXT,
  SpanKind,
  type Attributes,
  type Context,
  type Histogram,
  type Span,
  type Tracer,
} from "@opentelemetry/api";
import type {
  WaitOutcome,
  ClientRequestOutcome,
  ClientRequestSpan,
  ClientTracing,
  ClientWaitSpan,
  TracedClientRequest,
  TracedClientWait,
} from "../client/client-events.ts";
import type { TraceContext } from "../task/record.ts";
import type { SeriesNames } from "./metric.ts";
import {
  attribute,
  failSpan,
  type ErrorText,
  contextOf,
  contextWith,
  traceContextOf,
  endSpan,
  startSpan,
} from "./spans.ts";

interface ClientSpansSetup {
  readonly tracer: Tracer;
  readonly errorText: ErrorText;
  readonly names: SeriesNames;
  /** `mcp.client.operation.duration`, in seconds. */
  readonly duration: Histogram;
}

/** The spans of a client, and how long its requests took. */
export class ClientSpans implements ClientTracing {
  readonly #setup: ClientSpansSetup;

  constructor(setup: ClientSpansSetup) {
    this.#setup = setup;
  }

  request(request: TracedClientRequest): ClientRequestSpan {
    return new OneClientRequest(request, this.#setup);
  }

  wait({ taskId, tool, beside }: TracedClientWait): ClientWaitSpan {
    const parent = contextApi.active();
    const links = beside instanceof OneWait ? [{ context: beside.span.spanContext() }] : [];
    const attributes = { [attribute.taskId]: cutId(taskId) };
    const span = startSpan(this.#setup.tracer, nameOfWait(tool), { attributes, links }, parent);
    return new OneWait(span, contextWith(span, parent));
  }

  within<T>(trace: TraceContext, work: () => T): T {
    return contextApi.with(contextOf(trace), work);
  }

  apart<T>(work: () => T): T {
    return contextApi.with(ROOT_CONTEXT, work);
  }
}

class OneClientRequest implements ClientRequestSpan {
  readonly context: TraceContext | undefined;
  readonly #setup: ClientSpansSetup;
  readonly #request: TracedClientRequest;
  /** Relative to the start of the process, as OpenTelemetry expects. */
  readonly #begunAt = performance.now();
  readonly #span: Span;
  readonly #within: Context;
  #ended = false;

  constructor(request: TracedClientRequest, setup: ClientSpansSetup) {
    this.#setup = setup;
    this.#request = request;
    const { method, id, tool, prompt, taskId, peer, trace } = request;
    const parent = trace === undefined ? contextApi.active() : contextOf(trace);
    const attributes: Attributes = {
      ...measuredBy(request),
      [attribute.requestId]: String(id),
      ...(peer.transport === "http" && { [attribute.networkProtocol]: "http" }),
      ...(taskId !== undefined && { [attribute.taskId]: cutId(taskId) }),
    };
    const target = tool ?? prompt;
    const name = target === undefined ? method : `${method} ${target}`;
    const options = { attributes, kind: SpanKind.CLIENT, startTime: this.#begunAt };
    this.#span = startSpan(setup.tracer, name, options, parent);
    this.#within = contextWith(this.#span, parent);
    this.context = traceContextOf(this.#within);
  }

  run<T>(work: () => T): T {
    return contextApi.with(this.#within, work);
  }

  end(outcome: ClientRequestOutcome): void {
    if (this.#ended) return;
    this.#ended = true;
    const span = this.#span;
    const { taskId, code, message, isCancelled } = outcome;
    const errorType = errorTypeOf(outcome);
    if (taskId !== undefined) span.setAttribute(attribute.taskId, cutId(taskId));
    if (code !== undefined) span.setAttribute(attribute.statusCode, String(code));
    if (errorType !== undefined && isCancelled !== true)
      failSpan(span, errorType, message, this.#setup.errorText);
    endSpan(span);
    const { names } = this.#setup;
    const { tool, prompt } = this.#request;
    const measured = {
      ...measuredBy(this.#request),
      ...(tool !== undefined && { [attribute.tool]: names.of(tool) }),
      ...(prompt !== undefined && { [attribute.prompt]: names.of(prompt) }),
      ...(errorType !== undefined && { [attribute.errorType]: measuredError(errorType, code) }),
    };
    this.#setup.duration.record((performance.now() - this.#begunAt) / 1_000, measured, this.#within);
  }
}

class OneWait implements ClientWaitSpan {
  readonly span: Span;
  readonly #within: Context;

  constructor(span: Span, within: Context) {
    this.span = span;
    this.#within = within;
  }

  run<T>(work: () => T): T {
    return contextApi.with(this.#within, work);
  }

  end({ outcome, tool, isToolError }: Parameters<ClientWaitSpan["end"]>[0]): void {
    const { span } = this;
    if (tool !== undefined) span.updateName(nameOfWait(tool)).setAttribute(attribute.tool, tool);
    span.setAttribute(attribute.waitOutcome, outcome);
    if (isToolError) failSpan(span, "tool_error", undefined, "omit");
    else if (!unfailed.has(outcome)) failSpan(span, outcome, undefined, "omit");
    endSpan(span);
  }
}

/** Outcomes that are not failures. */
const unfailed: ReadonlySet<WaitOutcome> = new Set<WaitOutcome>([
  "completed",
  "cancelled",
  "left",
  "aborted",
]);

function nameOfWait(tool: string | undefined): string {
  return tool === undefined ? "wait" : `wait ${tool}`;
}

/** The attributes of a duration: each has few values. */
function measuredBy({ method, tool, prompt, protocolVersion, peer }: TracedClientRequest): Attributes {
  const { transport, address, port } = peer;
  return {
    [attribute.method]: method,
    ...(transport !== undefined && { [attribute.transport]: transport === "http" ? "tcp" : "pipe" }),
    ...(address !== undefined && { [attribute.serverAddress]: address }),
    ...(port !== undefined && { [attribute.serverPort]: port }),
    ...(tool !== undefined && { [attribute.tool]: tool, [attribute.operation]: "execute_tool" }),
    ...(prompt !== undefined && { [attribute.prompt]: prompt }),
    ...(protocolVersion !== undefined && { [attribute.protocolVersion]: protocolVersion }),
  };
}

/** Servers choose the ids of their tasks. */
const longestId = 256;

function cutId(taskId: string): string {
  return taskId.slice(0, longestId);
}

/** The error codes of JSON-RPC and MCP. Servers may send any code, but attributes of durations should have few values. */
function measuredError(errorType: string, code: number | undefined): string {
  return code === undefined || (code >= -32_768 && code <= -32_000) ? errorType : "_OTHER";
}

function errorTypeOf(outcome: ClientRequestOutcome): string | undefined {
  const { code, failure, isToolError, isCancelled } = outcome;
  if (isCancelled === true) return "cancelled";
  if (code !== undefined) return String(code);
  return failure ?? (isToolError === true ? "tool_error" : undefined);
}
