import type { JSONRPCRequest, JSONRPCResponse, RequestId } from "@modelcontextprotocol/server";
import type { TracedRequest } from "../../runtime/telemetry/tracing.ts";
import { isReplay } from "../sessions/replay-id.ts";
import type { RequestTrace } from "./request-trace.ts";
import type { RequestTracing } from "./request-tracing.ts";

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
