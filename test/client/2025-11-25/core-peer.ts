import { InMemoryTransport, type JSONRPCMessage } from "@modelcontextprotocol/client";
import { onTestFinished } from "vitest";
import type { ConnectOptions } from "../../../src/client/connect-options.ts";
import { connectWith } from "../../../src/client/connect.ts";
import type { TaskClient } from "../../../src/client/task-client.ts";
import { isJsonObject, type JsonObject } from "../../../src/generation/message.ts";
import { FakeClock } from "../fake-clock.ts";

export type Message = Record<string, unknown>;

type Answer = { readonly result: object } | { readonly error: object } | "silence";
type Step = Answer | ((params: JsonObject, id: unknown) => Answer | Promise<Answer>);

export const taskId = "Zk3v8Q0u1mW7rT5xY2bN9a";
export const sent = { content: [{ type: "text", text: "sent" }] };
export const relatedKey = "io.modelcontextprotocol/related-task";
export const related = { [relatedKey]: { taskId } };
export const approval = {
  message: "Send it?",
  requestedSchema: { type: "object", properties: { ok: { type: "boolean" } } },
  _meta: related,
};
export const unknownTask = { error: { code: -32602, message: "Unknown task" } };

export const taskCapabilities = {
  tools: { listChanged: true },
  tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
};

/** A task as this generation shows it; each change is a second later. */
export function task(status: string, more: object = {}, second = 0): object {
  return {
    taskId,
    status,
    createdAt: "2026-10-01T00:00:00Z",
    lastUpdatedAt: `2026-10-01T00:00:0${second}Z`,
    ttl: 900_000,
    pollInterval: 2000,
    ...more,
  };
}

export function tool(name: string, taskSupport?: string): object {
  const inputSchema = { type: "object" };
  return taskSupport === undefined
    ? { name, inputSchema }
    : { name, inputSchema, execution: { taskSupport } };
}

/** A server of an earlier revision on a pipe, which answers each method by a script and keeps what it saw. */
export class CorePeer {
  readonly seen: Message[] = [];
  readonly #wire: InMemoryTransport;
  readonly #scripts = new Map<string, Step[]>();
  readonly #always = new Map<string, Step>();
  readonly #watchers = new Set<() => void>();
  #count = 0;

  constructor(wire: InMemoryTransport, capabilities: object, version: string) {
    this.#wire = wire;
    const serverInfo = { name: "scripted", version: "1" };
    this.always("initialize", { result: { protocolVersion: version, capabilities, serverInfo } });
    this.always("tools/list", { result: { tools: [tool("publish_report", "optional")] } });
    wire.onmessage = (message) => void this.#take(message);
  }

  /** Replaces what is left of a method's script. Without one, what always holds is answered, or -32601. */
  script(method: string, ...steps: Step[]): void {
    this.#scripts.set(method, steps);
  }

  always(method: string, step: Step): void {
    this.#always.set(method, step);
  }

  of(method: string): Message[] {
    return this.seen.filter((message) => message["method"] === method);
  }

  params(method: string): JsonObject[] {
    return this.of(method).map(({ params }) => (isJsonObject(params) ? params : {}));
  }

  async sees(method: string, count = 1): Promise<void> {
    await this.#until(() => this.of(method).length >= count);
  }

  notify(method: string, params: object): void {
    void this.#wire.send({ jsonrpc: "2.0", method, params: { ...params } });
  }

  /** Sends a request; its id, and the answer when it comes. */
  ask(method: string, params: object, id = `ask-${++this.#count}`): { id: string; answer: Promise<Message> } {
    void this.#wire.send({ jsonrpc: "2.0", id, method, params: { ...params } });
    const isAnswer = (message: Message): boolean => message["id"] === id && !("method" in message);
    const answer = this.#until(() => this.seen.some(isAnswer)).then(() => this.seen.find(isAnswer) ?? {});
    return { id, answer };
  }

  answer(id: unknown, answer: object): void {
    void this.#wire.send({ jsonrpc: "2.0", id, ...answer } as JSONRPCMessage);
  }

  /** Resolves once all that was sent before has been dealt with. */
  async settled(client: TaskClient): Promise<void> {
    this.always("ping", { result: {} });
    await client.sdk.ping();
  }

  async #take(message: Message): Promise<void> {
    this.seen.push(message);
    for (const wake of this.#watchers) wake();
    const { id, method, params } = message;
    if (typeof method !== "string" || id === undefined) return;
    const step = this.#scripts.get(method)?.shift() ?? this.#always.get(method);
    const given = isJsonObject(params) ? params : {};
    const answer = typeof step === "function" ? await step(given, id) : step;
    if (answer === "silence") return;
    this.answer(id, answer ?? { error: { code: -32601, message: `Method not found: ${method}` } });
  }

  async #until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#watchers.add(resolve);
      await promise;
      this.#watchers.delete(resolve);
    }
  }
}

export interface CoreSetup {
  readonly peer: CorePeer;
  readonly clock: FakeClock;
  readonly client: TaskClient;
}

/** A scripted server of 2025-11-25 with tasks, and a client connected to it; both end with the test. */
export async function setUpCore(
  options: ConnectOptions = {},
  capabilities: object = taskCapabilities,
  version = "2025-11-25",
): Promise<CoreSetup> {
  const [near, far] = InMemoryTransport.createLinkedPair();
  const peer = new CorePeer(far, capabilities, version);
  await far.start();
  const clock = new FakeClock();
  const client = await connectWith(near, options, clock);
  onTestFinished(async () => client.close());
  return { peer, clock, client };
}
