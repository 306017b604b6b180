import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { McpServer } from "@modelcontextprotocol/server";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import type { ClientEvent } from "../../../src/client/client-events.ts";
import type { ConnectOptions } from "../../../src/client/connect-options.ts";
import { connect, connectWith } from "../../../src/client/connect.ts";
import type { TaskClient } from "../../../src/client/task-client.ts";
import { logIn } from "../../../src/client/auth/log-in.ts";
import { memoryLogins } from "../../../src/client/auth/login.ts";
import { visits } from "../auth/connected.ts";
import { OAuthServer } from "../auth/oauth-server.ts";
import { FakeClock } from "../fake-clock.ts";
import { serveLegacy } from "./legacy-server.ts";

const text = (said: string) => ({ content: [{ type: "text" as const, text: said }] });

/** `called` resolves when the tool `wait` runs, with what aborts when its caller cancels it. */
function makeServers() {
  const called = Promise.withResolvers<AbortSignal>();
  const makeServer = (): McpServer => {
    const mcp = new McpServer({ name: "old", version: "1.0.0" });
    mcp.registerTool("echo", { inputSchema: z.object({ said: z.string() }) }, ({ said }) => text(said));
    mcp.registerTool("count", {}, async ({ mcpReq: { _meta, notify } }) => {
      const progressToken = _meta?.progressToken ?? "none";
      for (const progress of [1, 2])
        await notify({ method: "notifications/progress", params: { progressToken, progress, total: 2 } });
      return text("counted");
    });
    mcp.registerTool("ask", {}, async ({ mcpReq }) => {
      const requestedSchema = { type: "object" as const, properties: { name: { type: "string" as const } } };
      const { content } = await mcpReq.elicitInput({ mode: "form", message: "Who?", requestedSchema });
      return text(JSON.stringify(content));
    });
    mcp.registerTool("wait", {}, async ({ mcpReq: { signal } }) => {
      called.resolve(signal);
      if (!signal.aborted) await once(signal, "abort");
      return text("late");
    });
    return mcp;
  };
  return { makeServer, called: called.promise };
}

async function connectTo(url: URL | string, options: ConnectOptions = {}): Promise<TaskClient> {
  const client = await connect(url, options);
  onTestFinished(async () => client.close());
  return client;
}

async function serve(listener: RequestListener): Promise<string> {
  const http = createServer(listener).listen(0, "127.0.0.1");
  await once(http, "listening");
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}/sse`;
}

it.each([400, 404, 405])(
  "speaks HTTP+SSE to a server that answers a POST with %i: calls, progress and questions [B-039 B-117]",
  async (postStatus) => {
    const { makeServer } = makeServers();
    const server = await serveLegacy(makeServer, { postStatus });
    const events: ClientEvent[] = [];
    const client = await connectTo(server.url, {
      onInput: async () => ({ action: "accept", content: { name: "Ann" } }),
      onEvent: (event) => events.push(event),
    });
    expect(events).toMatchObject([
      { type: "connected", transport: "http+sse", protocolVersion: "2025-11-25" },
    ]);
    expect(await client.callTool("echo", { said: "hello" })).toMatchObject(text("hello"));
    const seen: unknown[] = [];
    const onProgress = (progress: object): void => void seen.push(progress);
    expect(await client.callTool("count", {}, { onProgress })).toMatchObject(text("counted"));
    expect(seen).toMatchObject([
      { progress: 1, total: 2 },
      { progress: 2, total: 2 },
    ]);
    expect(await client.callTool("ask")).toMatchObject(text('{"name":"Ann"}'));
    expect(server.seen.filter(({ method, path }) => method === "GET" && path === "/sse")).toHaveLength(1);
  },
);

it("cancels a call by a notification [B-039]", async () => {
  const { makeServer, called } = makeServers();
  const client = await connectTo((await serveLegacy(makeServer)).url);
  const caller = new AbortController();
  const call = client.callTool("wait", {}, { signal: caller.signal });
  const signal = await called;
  const aborted = signal.aborted ? undefined : once(signal, "abort");
  caller.abort(new Error("enough"));
  await expect(call).rejects.toThrow("enough");
  await aborted;
  expect(await client.callTool("echo", { said: "still there" })).toMatchObject(text("still there"));
});

it("says that the connection is lost when the stream ends, and opens no other one behind the caller's back", async () => {
  const { makeServer, called } = makeServers();
  const server = await serveLegacy(makeServer);
  const events: ClientEvent[] = [];
  const client = await connectTo(server.url, { onEvent: (event) => events.push(event) });
  const call = client.callTool("wait");
  await called;
  server.dropStreams();
  await expect(call).rejects.toMatchObject({ code: "connection" });
  await expect(client.callTool("echo", { said: "again" })).rejects.toMatchObject({ code: "connection" });
  expect(events).toContainEqual(expect.objectContaining({ type: "disconnected", code: "connection" }));
  const again = await connectTo(server.url);
  expect(await again.callTool("echo", { said: "again" })).toMatchObject(text("again"));
  expect(server.seen.filter(({ method }) => method === "GET")).toHaveLength(2);
});

it("fails a call that is made when the server is gone", async () => {
  const { makeServer } = makeServers();
  const server = await serveLegacy(makeServer);
  const client = await connectTo(server.url);
  await server.stop();
  await expect(client.callTool("echo", { said: "hello" })).rejects.toMatchObject({ code: "connection" });
  await expect(connect(server.url)).rejects.toMatchObject({ code: "connection" });
});

it("ends the stream with the client", async () => {
  const closed = Promise.withResolvers<void>();
  const { makeServer } = makeServers();
  const server = await serveLegacy(() => {
    const mcp = makeServer();
    mcp.server.onclose = () => closed.resolve();
    return mcp;
  });
  await (await connect(server.url)).close();
  await closed.promise;
});

it.each([
  ["a token", { token: "s3cret" }],
  ["a function that gives one", { token: async () => "s3cret" }],
  ["a header", { headers: { authorization: "Bearer s3cret" } }],
])("sends %s with the stream and with each message", async (_, options) => {
  const { makeServer } = makeServers();
  const server = await serveLegacy(makeServer, { token: "s3cret" });
  const client = await connectTo(server.url, options);
  expect(await client.callTool("echo", { said: "hello" })).toMatchObject(text("hello"));
  expect(new Set(server.seen.map(({ authorization }) => authorization))).toEqual(new Set(["Bearer s3cret"]));
  await expect(connect(server.url, { token: "other" })).rejects.toMatchObject({ code: "unauthorized" });
});

it("logs in to a server of which only the stream says that it wants that, and renews the token of messages", async () => {
  const oauth = await OAuthServer.start();
  const { makeServer } = makeServers();
  const { url } = await serveLegacy(makeServer, { oauth });
  const store = memoryLogins();
  expect(await logIn(url, { store, onAddress: visits })).toMatchObject({ issuer: oauth.issuer });
  const client = await connectTo(url, { auth: store });
  expect(await client.callTool("echo", { said: "hello" })).toMatchObject(text("hello"));
  oauth.expireAll();
  expect(await client.callTool("echo", { said: "again" })).toMatchObject(text("again"));
  expect(oauth.last("/token").get("grant_type")).toBe("refresh_token");
});

it("says that the stream is refused without a token where only the stream asks for one", async () => {
  const url = await serve(({ method }, response) => response.writeHead(method === "GET" ? 401 : 404).end());
  await expect(connect(url)).rejects.toMatchObject({ code: "unauthorized" });
});

it.each(["http://127.0.0.1:1/messages", "//evil.example/messages", "http://"])(
  "sends no message, and no token, to %s, which is not at the server's origin",
  async (endpoint) => {
    const url = await serve(({ method }, response) => {
      if (method !== "GET") return response.writeHead(404).end();
      response.writeHead(200, { "content-type": "text/event-stream" });
      return response.write(`event: endpoint\ndata: ${endpoint}\n\n`);
    });
    const refused = connect(url, { token: "s3cret" });
    await expect(refused).rejects.toMatchObject({ code: "protocol" });
    await expect(refused).rejects.toThrow(/outside its own origin/);
  },
);

it.each([
  ["GET is answered with 404", 404, "", ""],
  ["GET is answered with a page", 200, "text/html", "event: endpoint\ndata: /messages\n\n"],
  ["the stream is one of Streamable HTTP", 200, "text/event-stream", "id: 1\ndata:\n\n"],
  ["the stream ends", 200, "text/event-stream", ""],
])("keeps to the answer of the POST where %s", async (_, status, type, body) => {
  const url = await serve(({ method }, response) => {
    if (method !== "GET") return response.writeHead(400).end('{"error":"Only for staff"}');
    return response.writeHead(status, { "content-type": type }).end(body);
  });
  await expect(connect(url)).rejects.toMatchObject({
    code: "connection",
    message: expect.stringContaining("the server answered HTTP 400: Only for staff"),
  });
});

it("waits no longer than five seconds for the first event of a stream", async () => {
  const clock = new FakeClock();
  const opened = Promise.withResolvers<void>();
  const url = await serve(({ method }, response) => {
    if (method !== "GET") return response.writeHead(405).end();
    response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    return opened.resolve();
  });
  const refused = connectWith(url, {}, clock);
  await opened.promise;
  clock.passDeadlines(5_000);
  await expect(refused).rejects.toThrow("HTTP 405");
});

it("does not look for HTTP+SSE where a version without it is asked for, and keeps one that is", async () => {
  const { makeServer } = makeServers();
  const server = await serveLegacy(makeServer);
  await expect(connect(server.url, { protocolVersion: "2026-07-28" })).rejects.toMatchObject({
    code: "protocol",
  });
  expect(server.seen.map(({ method }) => method)).not.toContain("GET");
  const client = await connectTo(server.url, { protocolVersion: "2024-11-05" });
  expect(client.sdk.getNegotiatedProtocolVersion()).toBe("2024-11-05");
});
