import type { AddressInfo } from "node:net";
import { requireBearerAuth } from "@modelcontextprotocol/express";
import { SSEServerTransport } from "@modelcontextprotocol/server-legacy/sse";
import express from "express";
import { serveTransport } from "holdfast";
import { createNodeHandler } from "holdfast/http";
import { server, tasks, verifier } from "./reports.ts";

const handler = createNodeHandler(server, { anonymous: "refused" }); // unauthenticated callers get 401
await tasks.start();

const app = express();
app.use(["/mcp", "/sse", "/messages"], requireBearerAuth({ verifier })); // sets req.auth
app.use(express.json({ limit: "5mb" })); // sets req.body

const transports = new Map<string, SSEServerTransport>();
app.get("/sse", async (request, response) => {
  const transport = new SSEServerTransport("/messages", response);
  transports.set(transport.sessionId, transport);
  response.once("close", () => transports.delete(transport.sessionId));
  await serveTransport(server, transport, { authInfo: request.auth });
});
app.post("/messages", async (request, response) => {
  const { sessionId } = request.query;
  const transport = typeof sessionId === "string" ? transports.get(sessionId) : undefined;
  if (transport === undefined) response.status(404).send("There is no such session.");
  else await transport.handlePostMessage(request, response, request.body);
});
app.use(handler); // answers /mcp, /healthz and /readyz, and passes on the rest

const http = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`);
});

async function stop(): Promise<void> {
  await handler.close();
  http.close();
  http.closeAllConnections(); // streams of old clients end only with their connections
}
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void stop());
