import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { expect, it, onTestFinished } from "vitest";
import { connectWith } from "../../../src/client/connect.ts";
import { FakeClock } from "../fake-clock.ts";
import { json, noSession, SessionServer, SessionStream } from "../2025-11-25/session-server.ts";

const done = { content: [{ type: "text" as const, text: "done" }] };

interface PostOnly {
  readonly url: string;
  /** HTTP methods, and the JSON-RPC methods of what was posted. */
  readonly seen: string[];
  /** Resolves once the client has asked for the stream of its session. */
  readonly refusedStream: Promise<void>;
  /** Lets the tool end that is being called. */
  readonly finish: () => void;
}

/** SDK v1 behind one route for POST, with sessions or as its stateless example does it; all else is a 404. */
async function servePostOnly(hasSessions: boolean): Promise<PostOnly> {
  const seen: string[] = [];
  const refused = Promise.withResolvers<void>();
  const finished = Promise.withResolvers<void>();
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  async function begin(): Promise<StreamableHTTPServerTransport> {
    const mcp = new McpServer({ name: "post-only", version: "1.0.0" });
    mcp.registerTool("slow", {}, async () => {
      await finished.promise;
      return done;
    });
    const transport = new StreamableHTTPServerTransport({
      ...(hasSessions && { sessionIdGenerator: () => randomUUID() }),
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
    await mcp.connect(transport);
    return transport;
  }
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== "POST") {
      seen.push(String(request.method));
      response.writeHead(404).end("Cannot GET /mcp");
      refused.resolve();
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString()) as { method: string };
    seen.push(body.method);
    const known = sessions.get(String(request.headers["mcp-session-id"]));
    await (known ?? (await begin())).handleRequest(request, response, body);
  }
  const http = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  onTestFinished(async () => {
    http.closeAllConnections();
    http.close();
    await once(http, "close");
  });
  const { port } = http.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/mcp`;
  return { url, seen, refusedStream: refused.promise, finish: finished.resolve };
}

it.each([
  ["without sessions", false],
  ["with sessions", true],
])("shakes hands once with a server %s that answers 404 to GET", async (_, hasSessions) => {
  const server = await servePostOnly(hasSessions);
  const client = await connectWith(server.url, { protocolVersion: "2025-11-25" }, new FakeClock());
  onTestFinished(async () => client.close());
  const calling = client.callTool("slow");
  await server.refusedStream;
  // Each of them gives a handshake that is under way the time to come.
  for (let times = 0; times < 20; times++) await client.sdk.listTools();
  server.finish();
  expect(await calling).toEqual(done);
  expect(server.seen.filter((method) => method === "initialize")).toHaveLength(1);
  expect(server.seen.filter((method) => method === "GET")).toHaveLength(1);
});

it("treats a 404 as a lost session only after the session accepted a message", async () => {
  const server = await SessionServer.start();
  const client = await server.connect();
  server.forgetSession();
  // The server refuses the new session as well, from its first message on.
  server.script("notifications/initialized", noSession);
  server.script("tools/list", noSession, noSession, noSession);
  await expect(client.sdk.listTools()).rejects.toThrow();
  await expect(client.sdk.listTools()).rejects.toThrow();
  expect(server.of("initialize")).toHaveLength(2);
});

it("does not treat 404 with -32601 as a lost session", async () => {
  const server = await SessionServer.start();
  const client = await server.connect();
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    error: { code: -32601, message: "Method not found" },
  });
  server.script("tools/list", (response) => void response.writeHead(404).end(body));
  await expect(client.sdk.listTools()).rejects.toThrow();
  expect(server.of("initialize")).toHaveLength(1);
});

it("backs off between handshakes if the server loses each session at once", async () => {
  const server = await SessionServer.start();
  const clock = new FakeClock();
  const client = await server.connect({}, clock);
  for (let times = 0; times < 5; times++) {
    server.forgetSession();
    await client.sdk.listTools();
  }
  expect(server.of("initialize")).toHaveLength(6);
  expect(clock.naps).toEqual([125, 250, 500, 1_000]);
});

it("checks the session when its stream cannot be reopened, and keeps a valid one", async () => {
  const server = await SessionServer.start();
  const stream = new SessionStream();
  server.script("GET", stream.begin);
  server.script("ping", json({}));
  const client = await server.connect();
  await server.sees("GET");
  await stream.end();
  await server.sees("ping");
  await client.sdk.listTools();
  expect(server.of("initialize")).toHaveLength(1);
  expect(server.of("GET")).toHaveLength(2);
});
