import { PROTOCOL_VERSION_META_KEY, SUPPORTED_PROTOCOL_VERSIONS } from "@modelcontextprotocol/server";
import type { TaskTraces } from "../../runtime/telemetry/task-traces.ts";
import type { ServerTracing, TracedRequest } from "../../runtime/telemetry/tracing.ts";
import { metaOf, type JsonObject } from "../../generation/message.ts";
import { traceContextIn } from "../../task/record.ts";
import { calledTool } from "../request.ts";
import { RequestTrace } from "./request-trace.ts";
import { protocolVersions } from "../../generation/generations.ts";
import { reservedMethods } from "../author-server.ts";

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
