import { InMemoryTransport, type JSONRPCMessage, type RequestId } from "@modelcontextprotocol/server";
import { onTestFinished } from "vitest";
import { onePipe, type Streams } from "../../src/server/streams.ts";
import type { TaskServer } from "../../src/server/task-server.ts";

import type { Message } from "./messages.ts";

export interface Client {
  readonly principal?: string | null;
  readonly capabilities?: object;
  readonly version?: string;
  readonly streams?: Streams;
  /** What it says in `clientInfo`. */
  readonly info?: { readonly name: string; readonly version: string };
}

/** A client of an earlier revision that shows what is on the wire, in its order. */
export class InMemorySession {
  /** All that came in, in its order. */
  readonly seen: Message[] = [];
  /** By the id of a request of the server, the request of ours on whose stream it came. */
  readonly sentOn = new Map<unknown, unknown>();
  /** While it is pending, nothing is read. */
  reads: Promise<void> | undefined;
  readonly #wire: InMemoryTransport;
  #next = Promise.withResolvers<void>();
  #nextId = 1;

  private constructor(wire: InMemoryTransport) {
    this.#wire = wire;
  }

  static async open(server: TaskServer, client: Client = {}): Promise<InMemorySession> {
    const { principal = "alice", capabilities = {}, version = "2025-11-25", streams = onePipe } = client;
    const { info = { name: "peer", version: "1.0.0" } } = client;
    const session = await InMemorySession.connect(server, principal, streams);
    const initialize = {
      protocolVersion: version,
      capabilities,
      clientInfo: info,
    };
    await session.request("initialize", initialize);
    session.notify("notifications/initialized");
    return session;
  }

  /** Without the handshake. */
  static async connect(
    server: TaskServer,
    principal: string | null,
    streams: Streams,
  ): Promise<InMemorySession> {
    const mcp = await server.create({ era: "legacy" }, { principal }, streams);
    const [near, far] = InMemoryTransport.createLinkedPair();
    const session = new InMemorySession(near);
    near.onmessage = (message) => {
      session.seen.push(message);
      session.#next.resolve();
      session.#next = Promise.withResolvers();
    };
    await near.start();
    const send = far.send.bind(far);
    far.send = async (message, options) => {
      if ("id" in message) session.sentOn.set(message.id, options?.relatedRequestId);
      if (session.reads !== undefined) await session.reads;
      return send(message, options);
    };
    await mcp.connect(far);
    onTestFinished(() => near.close());
    return session;
  }

  close(): Promise<void> {
    return this.#wire.close();
  }

  send(message: object): void {
    void this.#wire.send({ jsonrpc: "2.0", ...message } as JSONRPCMessage);
  }

  notify(method: string, params: object = {}): void {
    this.send({ method, params });
  }

  /** Sends a request and gives its id back. */
  begin(method: string, params: object = {}): RequestId {
    const id = this.#nextId++;
    this.send({ id, method, params });
    return id;
  }

  /** The first message, of those that came and will come, that is one. */
  async message(is: (message: Message) => boolean): Promise<Message> {
    for (;;) {
      const found = this.seen.find(is);
      if (found !== undefined) return found;
      await this.#next.promise;
    }
  }

  answerTo(id: RequestId): Promise<Message> {
    return this.message((message) => message["id"] === id && !("method" in message));
  }

  async result(id: RequestId): Promise<Message> {
    const { result, error } = await this.answerTo(id);
    if (error !== undefined) throw new Error(JSON.stringify(error));
    return result as Message;
  }

  request(method: string, params: object = {}): Promise<Message> {
    return this.result(this.begin(method, params));
  }

  async error(method: string, params: object = {}): Promise<Message> {
    return (await this.answerTo(this.begin(method, params)))["error"] as Message;
  }

  call(name: string, args: object = {}, more: object = {}): RequestId {
    return this.begin("tools/call", { name, arguments: args, ...more });
  }

  /** Starts a task and resolves with its id. */
  async start(name: string, args: object = {}, more: object = {}): Promise<string> {
    const { task } = await this.result(this.call(name, args, { task: {}, ...more }));
    return (task as { taskId: string }).taskId;
  }

  /** A request of the server with this method, whether it came already or comes now. */
  asked(method: string, nth = 0): Promise<Message> {
    return this.message((message) => this.requests(method)[nth] === message);
  }

  requests(method: string): Message[] {
    return this.seen.filter((message) => message["method"] === method);
  }

  reply(request: Message, result: object): void {
    this.send({ id: request["id"], result });
  }

  async until(taskId: string, ...statuses: string[]): Promise<Message> {
    for (;;) {
      const task = await this.request("tasks/get", { taskId });
      if (statuses.includes(task["status"] as string)) return task;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}
