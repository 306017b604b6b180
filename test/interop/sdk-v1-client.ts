import { setTimeout as pause } from "node:timers/promises";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  CreateTaskResultSchema,
  ElicitRequestSchema,
  TaskStatusNotificationSchema,
  type CallToolResult,
  type Task,
} from "@modelcontextprotocol/sdk/types.js";
import { compileCache } from "../compile-cache.ts";
import { EverythingServer, root } from "../conformance/everything-server.ts";
import { fullForm } from "../full-form.ts";

export type Way = "http" | "stdio";
export const ways: readonly Way[] = fullForm ? ["http", "stdio"] : ["http"];

/** What its user answers to a question with this message; a rejection is answered with an error. */
export type Answer = (message: string) => object | Promise<object>;

/** SDK v1's client, and what it was asked and told. */
export interface SdkV1 {
  readonly client: Client;
  readonly asked: Message[];
  readonly told: Task[];
  answer: Answer;
}

export interface Message {
  readonly method: string;
  readonly params?: Record<string, unknown> | undefined;
}

/** The everything server as a process, to be reached in one way, and a client of it. */
export interface Peers extends AsyncDisposable {
  readonly sdk: SdkV1;
  /** Another client: on stdio it has a server of its own. */
  open(capabilities?: object): Promise<SdkV1>;
}

export const canAnswer = { elicitation: { form: {} }, sampling: {} };

export async function peers(way: Way): Promise<Peers> {
  const opened: Client[] = [];
  const http = way === "http" ? new EverythingServer() : undefined;
  const open = async (capabilities: object = canAnswer): Promise<SdkV1> => {
    const sdk =
      http === undefined ? await overStdio(capabilities) : await sdkV1Over(await http.url, capabilities);
    opened.push(sdk.client);
    return sdk;
  };
  return {
    sdk: await open(),
    open,
    async [Symbol.asyncDispose]() {
      await Promise.all(opened.map((client) => client.close()));
      await http?.stop();
    },
  };
}

/** A client of a server that serves HTTP. */
export async function sdkV1Over(url: string, capabilities: object = canAnswer): Promise<SdkV1> {
  const sdk = sdkV1(capabilities);
  const transport: object = new StreamableHTTPClientTransport(new URL(url));
  // The SDK's own types disagree on what may be undefined.
  await sdk.client.connect(transport as Transport);
  return sdk;
}

/** A client of a server that it starts. */
async function overStdio(capabilities: object): Promise<SdkV1> {
  const sdk = sdkV1(capabilities);
  await sdk.client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [`${root}test/everything/main.ts`, "--stdio"],
      cwd: root,
      env: { ...compileCache, HOLDFAST_STORE: "memory:" },
    }),
  );
  return sdk;
}

function sdkV1(capabilities: object): SdkV1 {
  const client = new Client({ name: "desk", version: "1.0.0" }, { capabilities });
  const sdk: SdkV1 = { client, asked: [], told: [], answer: () => ({ action: "cancel" }) };
  if ("elicitation" in capabilities) {
    client.setRequestHandler(ElicitRequestSchema, async (request) => {
      sdk.asked.push(request);
      return sdk.answer(request.params.message);
    });
  }
  if ("sampling" in capabilities) {
    client.setRequestHandler(CreateMessageRequestSchema, (request) => {
      sdk.asked.push(request);
      return {
        role: "assistant" as const,
        model: "none",
        content: { type: "text" as const, text: "Because." },
      };
    });
  }
  client.setNotificationHandler(TaskStatusNotificationSchema, ({ params }) => void sdk.told.push(params));
  return sdk;
}

export const textOf = (text: string): object => ({ content: [{ type: "text", text }] });
export const relatedTo = (taskId: string): object => ({
  "io.modelcontextprotocol/related-task": { taskId },
});

/** Calls a tool as a task; resolves with the task as it was created. */
export async function start({ client }: SdkV1, name: string, args: object = {}, ttl?: number): Promise<Task> {
  const task = ttl === undefined ? {} : { ttl };
  const params = { name, arguments: { ...args }, task };
  return (await client.request({ method: "tools/call", params }, CreateTaskResultSchema)).task;
}

export function result({ client }: SdkV1, taskId: string): Promise<CallToolResult> {
  return client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema);
}

/** What `callToolStream` brings: its kinds and statuses in their order, each once, and its end. */
export async function streamed(
  { client }: SdkV1,
  name: string,
  args: object = {},
): Promise<[string[], unknown]> {
  const kinds = new Set<string>();
  let end: unknown;
  const params = { name, arguments: { ...args } };
  const stream = client.experimental.tasks.callToolStream(params, CallToolResultSchema, { task: {} });
  for await (const message of stream) {
    kinds.add(message.type === "taskStatus" ? message.task.status : message.type);
    if (message.type === "error") end = message.error;
    if (message.type === "result") end = message.result;
  }
  return [[...kinds], end];
}

/** The task once it is over. */
export async function ended({ client }: SdkV1, taskId: string): Promise<Task> {
  for (;;) {
    const task = await client.experimental.tasks.getTask(taskId);
    if (task.status !== "working" && task.status !== "input_required") return task;
    await pause(20);
  }
}
