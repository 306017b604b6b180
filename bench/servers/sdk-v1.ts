// Tasks of SDK v1 in its own in-memory store, with a session for each client. It answers with JSON rather than with streams,
// which costs it less.
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import {
  InMemoryTaskMessageQueue,
  InMemoryTaskStore,
} from "@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod";
import { serveAndPrintUrl } from "./serve-and-print-url.ts";

const taskStore = new InMemoryTaskStore();
const taskMessageQueue = new InMemoryTaskMessageQueue();

function makeServer(): McpServer {
  const capabilities = { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } };
  const server = new McpServer(
    { name: "bench", version: "1.0.0" },
    { capabilities, taskStore, taskMessageQueue },
  );
  server.experimental.tasks.registerToolTask(
    "add",
    { inputSchema: { a: z.number(), b: z.number() } },
    {
      createTask: async ({ a, b }, { taskStore: tasks, taskRequestedTtl }) => {
        const task = await tasks.createTask({ ttl: taskRequestedTtl ?? 3_600_000 });
        const content = [{ type: "text", text: String(a + b) }];
        await tasks.storeTaskResult(task.taskId, "completed", { content });
        return { task };
      },
      getTask: (_args, { taskId, taskStore: tasks }) => tasks.getTask(taskId),
      getTaskResult: async (_args, { taskId, taskStore: tasks }) =>
        CallToolResultSchema.parse(await tasks.getTaskResult(taskId)),
    },
  );
  return server;
}

const sessions = new Map<string, StreamableHTTPServerTransport>();

async function begin(): Promise<StreamableHTTPServerTransport> {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    enableJsonResponse: true,
    onsessioninitialized: (id) => void sessions.set(id, transport),
  });
  await makeServer().connect(transport);
  return transport;
}

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const id = request.headers["mcp-session-id"];
  const transport = typeof id === "string" ? sessions.get(id) : await begin();
  if (transport === undefined) response.writeHead(404).end();
  else await transport.handleRequest(request, response);
}

await serveAndPrintUrl(createServer((request, response) => void handle(request, response)));
