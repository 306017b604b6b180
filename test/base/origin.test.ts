import { once } from "node:events";
import { createServer, request, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { createFetchHandler, createNodeHandler, type FetchHandlerOptions } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished } from "vitest";
import { text } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";

interface Answer {
  readonly status: number | undefined;
  readonly body: string;
}

/** Sends one request; `fetch` does not let its caller write the Host header. */
type Send = (method: string, headers: Readonly<Record<string, string>>) => Promise<Answer>;

function over(url: string): Send {
  return async (method, headers) => {
    const sent = request(url, { method, headers: { "content-type": "application/json", ...headers } });
    sent.end(method === "POST" ? '{"jsonrpc":"2.0","id":1,"method":"ping"}' : undefined);
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    return { status: response.statusCode, body: Buffer.concat(chunks).toString() };
  };
}

function taskServer() {
  const tasks = createTasks({ store: memoryStore(), stopDeadlineMs: 100 });
  tasks.tool("bare", {}, () => text("bare"));
  return tasks.server(() => new McpServer({ name: "reports", version: "1" }));
}

/** The ways to serve, each with these options. */
const ways: readonly (readonly [string, (options?: FetchHandlerOptions) => Promise<Send>])[] = [
  [
    "serveHttp",
    async (http = {}) => {
      const served = await serve({ tools: (tasks) => tasks.tool("bare", {}, () => text("bare")), http });
      return over(served.http.url);
    },
  ],
  [
    "createNodeHandler",
    async (options) => {
      const handler = createNodeHandler(taskServer(), options);
      const http = createServer(handler).listen(0, "127.0.0.1");
      await once(http, "listening");
      onTestFinished(async () => {
        await handler.close();
        http.close();
      });
      return over(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`);
    },
  ],
  [
    "createFetchHandler",
    async (options) => {
      const handler = createFetchHandler(taskServer(), options);
      onTestFinished(() => handler.close());
      return async (method, headers) => {
        const body = method === "POST" ? { body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' } : {};
        const sent = new Request("http://127.0.0.1/mcp", { method, ...body });
        sent.headers.set("host", "127.0.0.1");
        for (const [name, value] of Object.entries(headers)) sent.headers.set(name, value);
        const response = await handler.fetch(sent);
        return { status: response.status, body: await response.text() };
      };
    },
  ],
];

it.each(ways)(
  "is checked with every method by %s, and named in the refusal [B-119 B-120 B-121]",
  async (_, start) => {
    const send = await start();
    for (const method of ["POST", "GET", "DELETE", "OPTIONS"]) {
      for (const origin of ["https://evil.example", "null", "not an origin"]) {
        const { status, body } = await send(method, { origin });
        expect([method, origin, status]).toEqual([method, origin, 403]);
        expect(JSON.parse(body)).toMatchObject({ jsonrpc: "2.0", id: null, error: { code: -32000 } });
      }
    }
    expect((await send("POST", { origin: "http://localhost:5173" })).status).not.toBe(403);
  },
);

it.each(ways)("and Host are those that %s is told, or any [B-124]", async (_, start) => {
  const named = await start({ allowedHosts: ["reports.example"], allowedOrigins: ["app.example"] });
  const good = { host: "reports.example", origin: "https://app.example" };
  expect((await named("POST", good)).status).not.toBe(403);
  expect((await named("POST", { ...good, host: "127.0.0.1" })).status).toBe(403);
  expect((await named("POST", { ...good, origin: "http://localhost" })).status).toBe(403);
  const off = await start({ allowedHosts: "any", allowedOrigins: "any" });
  const rebound = { host: "evil.example", origin: "https://evil.example" };
  expect((await off("POST", rebound)).status).not.toBe(403);
  const strict = await start();
  expect((await strict("POST", { host: "evil.example" })).status).toBe(403);
});
