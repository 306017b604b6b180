// A relay of the SDK's client and server, as short as one can be: it lists and calls the tools of the server at UPSTREAM, and knows no tasks.
import { createServer, type RequestListener } from "node:http";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, Server } from "@modelcontextprotocol/server";
import { serveAndPrintUrl } from "./serve-and-print-url.ts";

const client = new Client({ name: "relay", version: "1.0.0" });
await client.connect(new StreamableHTTPClientTransport(new URL(process.env["UPSTREAM"] ?? "")));

const handler = createMcpHandler(() => {
  const server = new Server({ name: "relay", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", async ({ params }) =>
    client.request({ method: "tools/list", params: { ...params } }),
  );
  server.setRequestHandler("tools/call", async ({ params }) =>
    client.request({ method: "tools/call", params }),
  );
  return server;
});
await serveAndPrintUrl(createServer(toNodeHandler(handler) as RequestListener));
