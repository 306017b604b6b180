import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { onTestFinished } from "vitest";
import type { ConnectOptions } from "../../../src/client/connect-options.ts";
import { connectWith } from "../../../src/client/connect.ts";
import type { TaskClient } from "../../../src/client/task-client.ts";
import { isJsonObject, type JsonObject } from "../../../src/generation/message.ts";
import { FakeClock } from "../fake-clock.ts";
import { taskCapabilities, tool } from "./core-peer.ts";

type Respond = (response: ServerResponse, message: Seen) => void;

/** One HTTP request. */
export interface Seen {
  /** `GET`, `DELETE`, or the JSON-RPC method; `answer` for an answer. */
  readonly what: string;
  readonly session: string | undefined;
  readonly lastEventId: string | undefined;
  readonly body: JsonObject;
}

/** A server of 2025-11-25 over HTTP with sessions, which answers by a script and keeps what it saw. */
export class SessionServer {
  readonly seen: Seen[] = [];
  capabilities: object = taskCapabilities;
  readonly #scripts = new Map<string, Respond[]>();
  readonly #watchers = new Set<() => void>();
  #server: Server | undefined;
  #sessions = 0;
  /** The newest session, unless it was forgotten. */
  #session: string | undefined;
  #older: string | undefined;

  static async start(): Promise<SessionServer> {
    const sessions = new SessionServer();
    const server = createServer((request, response) => void sessions.#take(request, response));
    sessions.#server = server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    });
    return sessions;
  }

  get url(): string {
    const address = this.#server?.address();
    return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}/mcp`;
  }

  /** What the next ones of a kind are answered with; after that as a usual server does. */
  script(what: string, ...responds: Respond[]): void {
    this.#scripts.set(what, responds);
  }

  /** An older session goes on too. */
  knows(session: string): void {
    this.#older = session;
  }

  forgetSession(): void {
    this.#session = undefined;
  }

  of(what: string): Seen[] {
    return this.seen.filter((message) => message.what === what);
  }

  async sees(what: string, count = 1): Promise<void> {
    while (this.of(what).length < count) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#watchers.add(resolve);
      await promise;
      this.#watchers.delete(resolve);
    }
  }

  async connect(options: ConnectOptions = {}, clock = new FakeClock()): Promise<TaskClient> {
    const client = await connectWith(this.url, { protocolVersion: "2025-11-25", ...options }, clock);
    onTestFinished(async () => client.close());
    return client;
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const parsed: unknown = text === "" ? {} : JSON.parse(text);
    const body = isJsonObject(parsed) ? parsed : {};
    const { method } = body;
    const what =
      request.method !== "POST" ? String(request.method) : typeof method === "string" ? method : "answer";
    const header = (name: string): string | undefined => {
      const value = request.headers[name];
      return typeof value === "string" ? value : undefined;
    };
    const message = { what, session: header("mcp-session-id"), lastEventId: header("last-event-id"), body };
    this.seen.push(message);
    for (const wake of this.#watchers) wake();
    const respond = this.#scripts.get(what)?.shift() ?? ((to: ServerResponse) => this.#usual(to, message));
    respond(response, message);
  }

  #usual(response: ServerResponse, { what, session, body }: Seen): void {
    if (what === "initialize") {
      this.#session = `session-${++this.#sessions}`;
      response.setHeader("mcp-session-id", this.#session);
      const { capabilities } = this;
      const serverInfo = { name: "scripted", version: "1" };
      return json({ protocolVersion: "2025-11-25", capabilities, serverInfo })(response, { body });
    }
    if (session !== this.#session && session !== this.#older) return void response.writeHead(404).end();
    if (what === "GET") return void response.writeHead(405).end();
    if (what === "tools/list")
      return json({ tools: [tool("publish_report", "optional")] })(response, { body });
    if (body["id"] === undefined || what === "answer") return void response.writeHead(202).end();
    json({})(response, { body });
  }
}

export function json(result: object): (response: ServerResponse, message: Pick<Seen, "body">) => void {
  return (response, { body }) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id: body["id"], result }));
  };
}

export function error(
  fault: object,
  status = 200,
): (response: ServerResponse, message: Pick<Seen, "body">) => void {
  return (response, { body }) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id: body["id"] ?? null, error: fault }));
  };
}

/** A stream of the session, written to by the test. */
export class SessionStream {
  readonly #begun = Promise.withResolvers<ServerResponse>();

  readonly begin = (response: ServerResponse): void => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.flushHeaders();
    this.#begun.resolve(response);
  };

  /** Raw text of the stream. */
  async write(text: string): Promise<void> {
    (await this.#begun.promise).write(text);
  }

  async send(message: object, id?: string): Promise<void> {
    const data = `data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`;
    await this.write(id === undefined ? data : `id: ${id}\n${data}`);
  }

  async end(): Promise<void> {
    (await this.#begun.promise).end();
  }

  async break(): Promise<void> {
    (await this.#begun.promise).destroy();
  }
}

/** What a server answers to a session that it does not know. */
export function noSession(response: ServerResponse): void {
  response.writeHead(404).end();
}
