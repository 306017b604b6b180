import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type Tasks, type TasksOptions } from "holdfast";
import { serveHttp } from "holdfast/http";
import { serveStdio } from "holdfast/stdio";
import type { TaskStore } from "holdfast/store";
import { onTestFinished } from "vitest";
import { type Message, formClient } from "../../kit/messages.ts";
import { SessionClient } from "../../kit/session-client.ts";

/** A client that polls a task and asks for its result only when it is over. */
export interface Poller {
  request(method: string, params: object): Promise<Message>;
  reply(question: Message, result: object): Promise<void>;
  /** What the server asked, on the stream that belongs to no request. */
  readonly asked: Message[];
  close(): Promise<void>;
}

export type Way = "http" | "stdio";

/** A server on `store` and its client; both are closed when the test ends, or by `close`. */
export async function poller(
  way: Way,
  store: TaskStore,
  tools: (tasks: Tasks) => void,
  options: Partial<TasksOptions> = {},
): Promise<Poller> {
  const rates = { pollsPerInterval: null };
  const tasks = createTasks({ store, stopDeadlineMs: 100, rates, ...options });
  tools(tasks);
  const server = tasks.server(() => new McpServer({ name: "reports", version: "1.2.3" }));
  const open = way === "http" ? overHttp : overStdio;
  const client = await open(server);
  onTestFinished(() => client.close());
  return client;
}

async function overHttp(server: Parameters<typeof serveHttp>[0]): Promise<Poller> {
  const http = await serveHttp(server, { port: 0, anonymous: "shared" });
  const peer = await SessionClient.open(http.url, { capabilities: formClient });
  const asked: Message[] = [];
  const stream = await peer.listen();
  void (async () => {
    for (let message = await stream.message(); message !== undefined; message = await stream.message()) {
      if ("id" in message) asked.push(message);
    }
  })();
  return {
    asked,
    request: (method, params) => peer.request(method, params),
    reply: async ({ id }, result) => void (await peer.post({ id, result })),
    close: () => http.close(),
  };
}

async function overStdio(server: Parameters<typeof serveStdio>[0]): Promise<Poller> {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const stdio = await serveStdio(server, { stdin, stdout });
  const asked: Message[] = [];
  const answers = new Map<unknown, (message: Message) => void>();
  createInterface(stdout).on("line", (line) => {
    const message = JSON.parse(line) as Message;
    if (!("method" in message)) answers.get(message["id"])?.(message);
    else if ("id" in message) asked.push(message);
  });
  const write = (message: object): void =>
    void stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  let count = 0;
  const request = (method: string, params: object): Promise<Message> => {
    const { promise, resolve } = Promise.withResolvers<Message>();
    answers.set((count += 1), resolve);
    write({ id: count, method, params });
    return promise;
  };
  const clientInfo = { name: "poller", version: "1" };
  await request("initialize", { protocolVersion: "2025-11-25", capabilities: formClient, clientInfo });
  write({ method: "notifications/initialized" });
  return {
    asked,
    request,
    reply: async ({ id }, result) => write({ id, result }),
    close: () => stdio.close(),
  };
}
