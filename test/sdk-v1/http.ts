import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

export interface HttpServer {
  readonly url: URL;
  close(): Promise<void>;
}

/** Serves SDK v1's servers over Streamable HTTP with sessions, one server per session, as its examples do. */
export async function serveSessions(
  makeServer: () => McpServer,
  onSession: (sessionId: string, request: IncomingMessage) => void = () => undefined,
): Promise<HttpServer> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const id = request.headers["mcp-session-id"];
    const transport = typeof id === "string" ? sessions.get(id) : await begin(request);
    if (transport === undefined) response.writeHead(404).end();
    else await transport.handleRequest(request, response);
  }

  async function begin(request: IncomingMessage): Promise<StreamableHTTPServerTransport> {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => {
        sessions.set(id, transport);
        onSession(id, request);
      },
    });
    await makeServer().connect(transport);
    return transport;
  }

  const http = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const { port } = http.address() as AddressInfo;
  return {
    url: new URL(`http://127.0.0.1:${port}/mcp`),
    close: async () => {
      for (const transport of sessions.values()) await transport.close();
      http.closeAllConnections();
      http.close();
      await once(http, "close");
    },
  };
}
