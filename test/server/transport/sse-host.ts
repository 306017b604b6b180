import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import type { ClientCapabilities } from "@modelcontextprotocol/sdk/types.js";
import { McpServer, type AuthInfo } from "@modelcontextprotocol/server";
import { SSEServerTransport } from "@modelcontextprotocol/server-legacy/sse";
import { createTasks, serveTransport, type Tasks, type TasksOptions } from "holdfast";
import { createNodeHandler } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { onTestFinished } from "vitest";

export interface SseHost {
  readonly tasks: Tasks;
  readonly errors: unknown[];
  /** The endpoint of Streamable HTTP. */
  readonly mcp: string;
  /** The stream of HTTP+SSE. */
  readonly sse: string;
  /** Breaks all streams of HTTP+SSE. */
  readonly drop: () => void;
}

type Received = IncomingMessage & { auth?: AuthInfo };

/** Who has the token `of-NAME` is NAME. */
export const tokenOf = (name: string): string => `of-${name}`;

/** Tasks behind both transports of HTTP, in one server of `node:http`. */
export async function hostSse(
  tools: (tasks: Tasks) => void,
  options: Partial<TasksOptions> = {},
): Promise<SseHost> {
  const errors: unknown[] = [];
  const onError = (error: unknown): void => void errors.push(error);
  const tasks = createTasks({ store: memoryStore(), stopDeadlineMs: 100, onError, ...options });
  tools(tasks);
  const server = tasks.server(() => new McpServer({ name: "reports", version: "1.2.3" }));
  const handler = createNodeHandler(server);
  const transports = new Map<string, SSEServerTransport>();
  const streams = new Set<ServerResponse>();
  const handle = async (request: Received, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
    const auth = authOf(request.headers.authorization);
    if (auth !== undefined) request.auth = auth;
    if (pathname === "/sse" && request.method === "GET") {
      const transport = new SSEServerTransport("/messages", response);
      transports.set(transport.sessionId, transport);
      streams.add(response);
      response.on("close", () => transports.delete(transport.sessionId));
      await serveTransport(server, transport, { authInfo: request.auth });
    } else if (pathname === "/messages" && request.method === "POST") {
      const transport = transports.get(searchParams.get("sessionId") ?? "");
      if (transport === undefined) response.writeHead(404).end();
      else await transport.handlePostMessage(request, response);
    } else handler(request, response);
  };
  const http = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => response.destroy(error as Error));
  }).listen(0, "127.0.0.1");
  await once(http, "listening");
  onTestFinished(async () => {
    http.close();
    http.closeAllConnections();
    await handler.close();
  });
  const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  return {
    tasks,
    errors,
    mcp: `${origin}/mcp`,
    sse: `${origin}/sse`,
    drop: () => {
      for (const stream of streams) stream.destroy();
      streams.clear();
    },
  };
}

function authOf(header: string | undefined): AuthInfo | undefined {
  const [, sub] = /^Bearer of-(\w+)$/.exec(header ?? "") ?? [];
  if (sub === undefined) return undefined;
  return { token: tokenOf(sub), clientId: "example", scopes: [], extra: { sub } };
}

/** SDK v1's client of the old transport. */
export async function oldClient(
  url: string,
  { token, capabilities = {} }: { token?: string; capabilities?: ClientCapabilities } = {},
): Promise<Client> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const client = new Client({ name: "old", version: "1.0.0" }, { capabilities });
  await client.connect(
    new SSEClientTransport(new URL(url), {
      requestInit: { headers },
      eventSourceInit: {
        fetch: (at, init) => fetch(at, { ...init, headers: { ...init.headers, ...headers } }),
      },
    }),
  );
  onTestFinished(() => client.close());
  return client;
}
