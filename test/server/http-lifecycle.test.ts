import { McpServer } from "@modelcontextprotocol/server";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createTasks, type TaskContext, type TaskServer } from "holdfast";
import { createFetchHandler, serveHttp, type HttpOptions } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { expect, it } from "vitest";
import { text, withoutTasks } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";
import { StatelessClient } from "../kit/stateless-client.ts";

function bareServer(): TaskServer {
  const tasks = createTasks({ store: memoryStore() });
  tasks.tool("bare", {}, () => text("bare"));
  return tasks.server(() => new McpServer({ name: "reports", version: "1.2.3" }));
}

/** A tool that runs until its test opens the gate. */
function gated(): {
  started: Promise<TaskContext>;
  open: () => void;
  handler: (_: unknown, task: TaskContext) => Promise<ReturnType<typeof text>>;
} {
  const started = Promise.withResolvers<TaskContext>();
  const gate = Promise.withResolvers<void>();
  return {
    started: started.promise,
    open: gate.resolve,
    async handler(_, task) {
      started.resolve(task);
      await gate.promise;
      return text("done");
    },
  };
}

it("names the address when its port is taken, and ends in order", async () => {
  const { http } = await serve({ tools: () => undefined });
  const server = bareServer();
  await expect(serveHttp(server, { port: http.port })).rejects.toMatchObject({
    code: "address_in_use",
    message: expect.stringContaining(`Port ${http.port} on 127.0.0.1`) as unknown,
  });
  await expect(server.create({ era: "legacy" }, { principal: null })).resolves.toBeInstanceOf(McpServer);
});

it.each<[string, HttpOptions]>([
  ["a public address without a word on who may call", { host: "0.0.0.0", port: 0 }],
  ["a public address by name", { host: "reports.example", port: 0 }],
  ["authentication and anonymity at once", { authenticate: async () => "ann", anonymous: "shared", port: 0 }],
  ["a path without a slash", { path: "mcp", port: 0 }],
])("refuses %s", async (_, options) => {
  await expect(serveHttp(bareServer(), options)).rejects.toMatchObject({ code: "configuration" });
});

it("serves a public address once told that anyone may call", async () => {
  const { http } = await serve({ tools: () => undefined, http: { host: "0.0.0.0", anonymous: "isolated" } });
  expect(http.url).toBe(`http://localhost:${http.port}/mcp`);
  const url = `http://127.0.0.1:${http.port}/mcp`;
  expect((await new StatelessClient(url).send("server/discover")).status).toBe(200);
});

it("lets a request in flight end before it closes, and is closed once", async () => {
  const { started, open, handler } = gated();
  const { http } = await serve({
    tools: (tasks) => tasks.tool("gated", {}, handler),
    options: { stopDeadlineMs: 30_000 },
  });
  const answered = new StatelessClient(http.url).call("gated", {}, { capabilities: withoutTasks });
  await started;
  const closed = http.close();
  expect(http.close()).toBe(closed);
  open();
  expect((await answered).result).toMatchObject(text("done"));
  await closed;
  await expect(fetch(http.url)).rejects.toThrow();
});

it("closes at once although a client keeps its connection and listens", async () => {
  const { http } = await serve({
    tools: (tasks) => tasks.tool("bare", {}, () => text("bare")),
    options: { stopDeadlineMs: 600_000 },
  });
  const client = new Client(
    { name: "desk", version: "1" },
    { versionNegotiation: { mode: { pin: "2026-07-28" } } },
  );
  await client.connect(new StreamableHTTPClientTransport(new URL(http.url)));
  expect((await client.callTool({ name: "bare", arguments: {} })).content).toEqual(text("bare").content);
  const subscription = await client.listen({ toolsListChanged: true });
  await http.close();
  await subscription.close();
  await client.close();
});

it("aborts a direct call's handler when its caller goes away [X-B-017 B-P-003]", async () => {
  const { started, open, handler } = gated();
  const peer = await StatelessClient.of({ tools: (tasks) => tasks.tool("gated", {}, handler) });
  const caller = new AbortController();
  const answered = peer.call("gated", {}, { capabilities: withoutTasks, signal: caller.signal });
  const { signal } = await started;
  const aborted = new Promise((resolve) => signal.addEventListener("abort", resolve));
  caller.abort();
  await expect(answered).rejects.toThrow();
  await aborted;
  open();
});

it("serves any framework by its fetch handler, and answers 503 once closed", async () => {
  const server = bareServer();
  await server.start();
  const handler = createFetchHandler(server, { allowedHosts: ["reports.example"] });
  const peer = new StatelessClient("http://reports.example/mcp", (url, init) => {
    const request = new Request(url, init);
    request.headers.set("host", "reports.example"); // which a server would have received
    return handler.fetch(request);
  });
  expect(await peer.ended(await peer.start("bare"))).toMatchObject({
    status: "completed",
    result: text("bare"),
  });
  await handler.close();
  expect((await peer.call("bare")).status).toBe(503);
  await server.stop();
});

it("leaves its tasks what the requests in flight left of the deadline", async () => {
  const begun = Promise.withResolvers<void>();
  const server = createTasks({ store: memoryStore(), stopDeadlineMs: 50 }).server(() => {
    const mcp = new McpServer({ name: "reports", version: "1.2.3" });
    mcp.registerTool("hangs", {}, () => (begun.resolve(), new Promise(() => undefined)));
    return mcp;
  });
  const left: unknown[] = [];
  const stop: TaskServer["stop"] = (withinMs) => (left.push(withinMs), server.stop(withinMs));
  const http = await serveHttp(Object.assign(Object.create(server) as TaskServer, { stop }), { port: 0 });
  const answered = new StatelessClient(http.url).call("hangs", {}, { capabilities: withoutTasks });
  answered.catch(() => undefined);
  await begun.promise;
  await http.close();
  expect(left).toEqual([0]);
});
