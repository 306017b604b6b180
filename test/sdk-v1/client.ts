import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  CreateTaskResultSchema,
  ElicitRequestSchema,
  type Task,
} from "@modelcontextprotocol/sdk/types.js";
import { onTestFinished } from "vitest";
import type { SdkV1Tasks } from "../../src/sdk-v1/open-tasks.ts";
import { serveSessions } from "./http.ts";
import { exampleServer } from "./tools.ts";

export const haiku = "Cherry blossoms fall";

/** SDK v1's client, which answers questions and samples as that of its example does. */
export function exampleClient(): Client {
  const client = new Client(
    { name: "example-client", version: "1.0.0" },
    { capabilities: { elicitation: { form: {} }, sampling: {} } },
  );
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept", content: { confirm: true } }));
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    model: "mock",
    role: "assistant" as const,
    content: { type: "text" as const, text: haiku },
  }));
  return client;
}

/** A client that is connected until the test ends. */
export async function connectClient(transport: Transport): Promise<Client> {
  const client = exampleClient();
  await client.connect(transport);
  onTestFinished(() => client.close());
  return client;
}

export async function connectHttp(url: URL, headers: Record<string, string> = {}): Promise<Client> {
  return connectClient(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
}

export type TransportName = "in memory" | "http";
export const transportNames: readonly TransportName[] = ["in memory", "http"];

/** The example server on these tasks, and the example client at its other end. */
export async function connectExample(name: TransportName, durable: SdkV1Tasks): Promise<Client> {
  if (name === "http") {
    const http = await serveSessions(() => exampleServer(durable));
    onTestFinished(() => http.close());
    return connectHttp(http.url);
  }
  const [near, far] = InMemoryTransport.createLinkedPair();
  const server = exampleServer(durable);
  await server.connect(far);
  onTestFinished(() => server.close());
  return connectClient(near);
}

/** Calls a tool as a task, and returns at once with the task. */
export async function start(client: Client, name: string, args: object, ttl = 60_000): Promise<Task> {
  const params = { name, arguments: { ...args }, task: { ttl } };
  const { task } = await client.request({ method: "tools/call", params }, CreateTaskResultSchema);
  return task;
}

/** The text of a task's result; waits for it. */
export async function resultText(client: Client, taskId: string): Promise<string> {
  const { content } = await client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema);
  const [first] = content;
  return first?.type === "text" ? first.text : "";
}

/** What a stream of a call brings, by its kinds, and the text of its end. */
export async function streamed(client: Client, name: string, args: object): Promise<[string[], string]> {
  const kinds = new Set<string>();
  let end = "";
  const params = { name, arguments: { ...args } };
  const stream = client.experimental.tasks.callToolStream(params, CallToolResultSchema, {
    task: { ttl: 60_000 },
  });
  for await (const message of stream) {
    kinds.add(message.type === "taskStatus" ? message.task.status : message.type);
    if (message.type === "error") end = message.error.message;
    if (message.type !== "result") continue;
    const [first] = message.result.content;
    end = first?.type === "text" ? first.text : "";
  }
  return [[...kinds], end];
}
