import { expect } from "vitest";
import { withTasks, type Message } from "./messages.ts";
import { fieldOf, ServerSentEvents } from "./server-sent-events.ts";

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
export class Subscription {
  readonly #events: ServerSentEvents;

  constructor(response: Response) {
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    this.#events = new ServerSentEvents(response);
  }

  static async to(url: string, notifications: unknown, listening?: Listening): Promise<Subscription> {
    return new Subscription(await listenTo(url, notifications, listening));
  }

  /** The text of the next event, or undefined at the end of the stream. */
  event(): Promise<string | undefined> {
    return this.#events.next();
  }

  /** The next message, or undefined at the end of the stream. */
  async next(): Promise<Message | undefined> {
    for (let event = await this.event(); event !== undefined; event = await this.event()) {
      const data = fieldOf(event, "data");
      if (data !== undefined) return JSON.parse(data) as Message;
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
    return this.#events.cancel();
  }
}
