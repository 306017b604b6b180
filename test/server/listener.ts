import { expect } from "vitest";
import { withTasks } from "./peer.ts";

export type Message = Record<string, unknown>;

export const subscriptionKey = "io.modelcontextprotocol/subscriptionId";
export const acknowledged = "notifications/subscriptions/acknowledged";

/** The params of a listen request. */
export function listenParams(notifications: unknown, capabilities: object = withTasks): object {
  return {
    notifications,
    _meta: {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": capabilities,
    },
  };
}

export interface Listening {
  readonly id?: string | number;
  readonly capabilities?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

/** Sends a listen request over HTTP. */
export function listenTo(url: string, notifications: unknown, listening: Listening = {}): Promise<Response> {
  const { id = 1, capabilities = withTasks, headers, fetch: send = fetch } = listening;
  return send(url, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": "2026-07-28",
      "Mcp-Method": "subscriptions/listen",
      ...headers,
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id,
      method: "subscriptions/listen",
      params: listenParams(notifications, capabilities),
    }),
  });
}

/** What a client reads of a subscription over HTTP, message by message. */
export class Listener {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  #text = "";

  constructor(response: Response) {
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    this.#reader = (response.body as ReadableStream<Uint8Array>).getReader();
  }

  static async to(url: string, notifications: unknown, listening?: Listening): Promise<Listener> {
    return new Listener(await listenTo(url, notifications, listening));
  }

  /** The next event as it stands there, or undefined at the end of the stream. */
  async event(): Promise<string | undefined> {
    for (;;) {
      const end = this.#text.indexOf("\n\n");
      if (end !== -1) {
        const event = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 2);
        return event;
      }
      const { done, value } = await this.#reader.read();
      if (done) return undefined;
      this.#text += this.#decoder.decode(value, { stream: true });
    }
  }

  /** The next message, or undefined at the end of the stream. */
  async next(): Promise<Message | undefined> {
    for (let event = await this.event(); event !== undefined; event = await this.event()) {
      const data = event.split("\n").find((line) => line.startsWith("data: "));
      if (data !== undefined) return JSON.parse(data.slice("data: ".length)) as Message;
    }
    return undefined;
  }

  /** The next message, which has to be a task. */
  async task(): Promise<Message> {
    const message = await this.next();
    expect(message).toMatchObject({ method: "notifications/tasks" });
    return message?.["params"] as Message;
  }

  /** Reads tasks until one has the status. */
  async until(status: string): Promise<Message> {
    for (;;) {
      const task = await this.task();
      if (task["status"] === status) return task;
    }
  }

  leave(): Promise<void> {
    return this.#reader.cancel();
  }
}
