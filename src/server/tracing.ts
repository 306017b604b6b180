import {
  isJSONRPCRequest,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type JSONRPCResponse,
  type McpServer,
  type MessageExtraInfo,
  PROTOCOL_VERSION_META_KEY,
  type RequestId,
  SUPPORTED_PROTOCOL_VERSIONS,
  type Transport,
  type TransportSendOptions,
} from "@modelcontextprotocol/server";
import type { Runtime } from "../runtime/runtime.ts";
import type { ServerTracing, TaskTraces, TracedRequest } from "../runtime/telemetry/telemetry.ts";
import { isReplay } from "./streams.ts";
import { calledTool, RequestTrace } from "./request.ts";
import { type JsonObject, metaOf } from "../generation/message.ts";
import { traceContextIn } from "../task/record.ts";
import { protocolVersions } from "../generation/generations.ts";
import { reservedMethods } from "./author-server.ts";

/** A listener was notified of a change of a task, committed at `changedAt` (epoch ms), possibly by a process whose clock is ahead. */
export function pushed({ telemetry, clock }: Pick<Runtime, "telemetry" | "clock">, changedAt: number): void {
  telemetry?.metrics.pushed(Math.max(0, clock.now() - changedAt));
}

export interface ConnectionTracesSetup {
  readonly tracing: RequestTracing;
  readonly transport: TracedRequest["transport"];
  /** The negotiated revision; left out if each request names its own. */
  readonly version?: () => string | undefined;
}

/** The spans of the requests of one connection that are not answered yet. */
export class ConnectionTraces {
  readonly #setup: ConnectionTracesSetup;
  /** By JSON-RPC id; 1 and "1" are two. */
  readonly #open = new Map<RequestId, RequestTrace>();

  constructor(setup: ConnectionTracesSetup) {
    this.#setup = setup;
  }

  /** Undefined for a request without a client, which replays to a restored session what its client has set. */
  begin(request: JSONRPCRequest): RequestTrace | undefined {
    if (isReplay(request.id)) return undefined;
    const { tracing, transport, version } = this.#setup;
    this.cancelled(request.id); // whose answer could not be told from that of this one
    const trace = tracing.begin(request, transport, version?.());
    this.#open.set(request.id, trace);
    return trace;
  }

  answered(answer: JSONRPCResponse): void {
    const { id } = answer;
    if (id === undefined) return;
    this.#open.get(id)?.answered(answer);
    this.#open.delete(id);
  }

  cancelled(request: RequestId): void {
    this.#open.get(request)?.cancelled();
    this.#open.delete(request);
  }

  /** The connection has ended. */
  close(): void {
    for (const request of this.#open.keys()) this.cancelled(request);
  }
}

export interface RequestTracingSetup {
  readonly tracing: ServerTracing;
  readonly traces: TaskTraces;
  /** Whether there is such a tool of ours. */
  readonly isTool: (name: string) => boolean;
}

/** A request as it came in. */
export interface IncomingRequest {
  readonly id: string | number;
  readonly method: string;
  readonly params?: unknown;
}

/** Maximum number of known tool names of the author's servers, which may accept any name. */
const mostLearnedTools = 1_000;

/** Traces the requests of a server, on any transport. */
export class RequestTracing {
  readonly #setup: RequestTracingSetup;
  /** Tools of the author's servers, known only from their answers. */
  readonly #learnedTools = new Set<string>();

  constructor(setup: RequestTracingSetup) {
    this.#setup = setup;
  }

  /** `version`: the negotiated revision, if the request does not name one. */
  begin(request: IncomingRequest, transport: TracedRequest["transport"], version?: string): RequestTrace {
    const { tracing, traces } = this.#setup;
    const { id, params } = request;
    const meta = metaOf(params);
    const method = tracedMethod(request.method);
    const isCall = method === "tools/call";
    const name = isCall ? calledTool(params) : "";
    const isKnown = isCall && (this.#setup.isTool(name) || this.#learnedTools.has(name));
    const span = tracing.request({
      method,
      id,
      transport,
      protocolVersion: version ?? versionIn(meta),
      trace: traceContextIn(meta),
      tool: isKnown ? name : undefined,
    });
    const unknownTool = isCall && !isKnown ? { name, learned: () => this.#learn(name) } : undefined;
    return new RequestTrace({ span, traces, isCall, unknownTool });
  }

  /** A call of the tool has a result; false if there are too many to remember. */
  #learn(name: string): boolean {
    if (this.#learnedTools.size < mostLearnedTools) this.#learnedTools.add(name);
    return this.#learnedTools.has(name);
  }
}

/** The requests of clients in all revisions, and of SEP-1686. */
const methods: ReadonlySet<string> = new Set([
  "initialize",
  "ping",
  "server/discover",
  "subscriptions/listen",
  "tools/list",
  "tools/call",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "resources/subscribe",
  "resources/unsubscribe",
  "prompts/list",
  "prompts/get",
  "completion/complete",
  "logging/setLevel",
  ...reservedMethods,
]);

const versions: ReadonlySet<string> = new Set([...protocolVersions, ...SUPPORTED_PROTOCOL_VERSIONS]);

/** A method's name in traces, which need few names, while a client may send any. */
export function tracedMethod(method: string): string {
  return methods.has(method) ? method : "_OTHER";
}

/** The revision that the `_meta` of a request names; undefined if it names no existing one. */
export function versionIn(meta: JsonObject): string | undefined {
  const version = meta[PROTOCOL_VERSION_META_KEY];
  return typeof version === "string" && versions.has(version) ? version : undefined;
}

/**
 * The author's server for one request of 2026-07-28 over HTTP, which the SDK connects: with a span for the request. The SDK knows its
 * transport by the class, so that this is not wrapped.
 */
export function tracedServer(mcp: McpServer, tracing: RequestTracing): McpServer {
  const connect = async (wire: Transport): Promise<void> => {
    await mcp.connect(wire);
    traceWire(wire, new ConnectionTraces({ tracing, transport: "http" }));
  };
  return Object.create(mcp, { server: { value: mcp.server }, connect: { value: connect } }) as McpServer;
}

function traceWire(wire: Transport, traces: ConnectionTraces): void {
  const { onmessage, onclose } = wire;
  const send = wire.send.bind(wire);
  const traced: Pick<Transport, "onmessage" | "send" | "onclose"> = {
    onmessage: (message: JSONRPCMessage, extra?: MessageExtraInfo) => {
      if (!isJSONRPCRequest(message)) {
        onmessage?.(message, extra);
        return;
      }
      const begun = traces.begin(message);
      if (begun === undefined) onmessage?.(message, extra);
      else begun.run(() => onmessage?.(begun.traced(message), extra));
    },
    send: (message: JSONRPCMessage, options?: TransportSendOptions) => {
      if (!("method" in message)) traces.answered(message);
      return send(message, options);
    },
    onclose: () => {
      traces.close();
      onclose?.();
    },
  };
  Object.assign(wire, traced);
}
