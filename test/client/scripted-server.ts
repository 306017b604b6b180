import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import { ScriptedStream } from "./scripted-stream.ts";
import { isJsonObject, type JsonObject } from "../../src/generation/message.ts";

/** What the server saw. */
export interface SeenRequest {
  readonly headers: IncomingHttpHeaders;
  readonly id: unknown;
  readonly method: string;
  readonly params: JsonObject;
  /** Resolves when the connection of its answer has closed, or the answer is complete. */
  readonly closed: Promise<unknown>;
}

export type Answer =
  | { readonly result: object }
  | { readonly error: object; readonly status?: number }
  /** An HTTP answer that is no JSON-RPC. */
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }
  /** Server-sent events, and the end of the stream. */
  | { readonly events: readonly object[] }
  /** A stream that the test goes on to write to. */
  | ScriptedStream
  /** The connection breaks instead of an answer. */
  | "reset"
  /** Nothing comes, until the client gives up. */
  | "silence";

type Step = Answer | ((request: SeenRequest) => Answer | Promise<Answer>);

export const discovered = {
  resultType: "complete",
  supportedVersions: ["2026-07-28"],
  capabilities: { tools: {}, extensions: { "io.modelcontextprotocol/tasks": {} } },
  ttlMs: 600_000,
  cacheScope: "public",
  _meta: { "io.modelcontextprotocol/serverInfo": { name: "scripted", version: "1.0.0" } },
};

/** The same, of a server that recognises repeated calls. */
export const discoveredHoldfast = {
  ...discovered,
  capabilities: {
    ...discovered.capabilities,
    extensions: { ...discovered.capabilities.extensions, "holdfast/idempotencyKey": {} },
  },
};

/** The same, of one that says for how long. */
export function discoveredKeeping(keptMs: number): object {
  const { capabilities } = discoveredHoldfast;
  const extensions = { ...capabilities.extensions, "holdfast/idempotencyKey": { keptMs } };
  return { ...discoveredHoldfast, capabilities: { ...capabilities, extensions } };
}

/** A real HTTP server that answers each JSON-RPC method by a script, in order, and keeps what it saw. */
export class ScriptedServer {
  readonly seen: SeenRequest[] = [];
  readonly #scripts = new Map<string, Step[]>();
  readonly #watchers = new Set<() => void>();
  #server: Server | undefined;
  #port = 0;

  static async start(): Promise<ScriptedServer> {
    const server = new ScriptedServer();
    await server.listen();
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/mcp`;
  }

  /** Replaces what is left of a method's script. Without one, a method other than discovery is answered -32601. */
  script(method: string, ...steps: Step[]): void {
    this.#scripts.set(method, steps);
  }

  of(method: string): SeenRequest[] {
    return this.seen.filter((request) => request.method === method);
  }

  /** Resolves once the server has seen so many requests of a method. */
  async sees(method: string, count: number): Promise<void> {
    while (this.of(method).length < count) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#watchers.add(resolve);
      await promise;
      this.#watchers.delete(resolve);
    }
  }

  /** Listens, after `stop` on the same port again. */
  async listen(): Promise<void> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const body: unknown = JSON.parse(Buffer.concat(chunks).toString());
        if (!isJsonObject(body)) throw new Error("not a JSON-RPC message");
        const { id, method, params } = body;
        const isNamed = typeof method === "string" && isJsonObject(params);
        if (!isNamed) throw new Error("not a request");
        const closed = once(response, "close");
        void this.#answer({ headers: request.headers, id, method, params, closed }, response);
      });
    });
    server.listen(this.#port, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    this.#port = typeof address === "object" && address !== null ? address.port : 0;
    this.#server = server;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  }

  async #answer(request: SeenRequest, response: ServerResponse): Promise<void> {
    this.seen.push(request);
    for (const wake of this.#watchers) wake();
    const step = this.#scripts.get(request.method)?.shift();
    const noStep: Answer =
      request.method === "server/discover"
        ? { result: discovered }
        : { error: { code: -32601, message: `The script has no answer to ${request.method}` } };
    write(response, request.id, typeof step === "function" ? await step(request) : (step ?? noStep));
  }
}

function write(response: ServerResponse, id: unknown, answer: Answer): void {
  if (answer === "silence") return;
  if (answer === "reset") response.destroy();
  else if (answer instanceof ScriptedStream) answer.begin(response, id);
  else if ("events" in answer) {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of answer.events) {
      response.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, ...event })}\n\n`);
    }
    response.end();
  } else if ("result" in answer || "error" in answer) {
    response.writeHead(("status" in answer ? answer.status : undefined) ?? 200, {
      "content-type": "application/json",
    });
    const { status: _, ...payload } = { status: 0, ...answer };
    response.end(JSON.stringify({ jsonrpc: "2.0", id, ...payload }));
  } else {
    response.writeHead(answer.status, answer.headers);
    response.end(answer.body);
  }
}
