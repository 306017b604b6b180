// A server with one plain tool on SDK v2, as in its documentation for node:http.
import { createServer, type RequestListener } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import * as z from "zod";
import { serveAndPrintUrl } from "./serve-and-print-url.ts";

const inputSchema = z.object({ a: z.number(), b: z.number() });

const handler = createMcpHandler(() => {
  const server = new McpServer({ name: "bench", version: "1.0.0" });
  server.registerTool("add", { inputSchema }, ({ a, b }) => ({
    content: [{ type: "text", text: String(a + b) }],
  }));
  return server;
});

// Its request type is stricter about undefined than Node's.
await serveAndPrintUrl(createServer(toNodeHandler(handler) as RequestListener));
