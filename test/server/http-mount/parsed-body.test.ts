import express, { type RequestHandler } from "express";
import { fastify } from "fastify";
import { createFetchHandler } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { createTasks } from "holdfast";
import { McpServer } from "@modelcontextprotocol/server";
import { expect, it, onTestFinished } from "vitest";
import * as z from "zod";
import { text } from "../../kit/messages.ts";
import { StatelessClient } from "../../kit/stateless-client.ts";
import { handlerOf, served, type Mounting } from "./mount.ts";

const echo: Mounting = {
  tools: (tasks) =>
    tasks.tool("echo", { inputSchema: z.looseObject({}), task: "forbidden" }, () => text("echo")),
};

/** An Express application that reads bodies before us. */
async function behind(parser: RequestHandler, mounting: Mounting = {}) {
  const { handler, errors } = handlerOf({ ...echo, ...mounting });
  const app = express();
  app.use(parser, handler);
  const { origin } = await served(app);
  return { url: `${origin}/mcp`, peer: new StatelessClient(`${origin}/mcp`), errors };
}

const parsers: [string, RequestHandler][] = [
  ["JSON", express.json({ limit: "100mb" })],
  ["bytes", express.raw({ type: "*/*", limit: "100mb" })],
];

const touches: [string, RequestHandler][] = [
  [
    "let wait",
    (request, _, next) => {
      request.pause();
      setImmediate(next);
    },
  ],
  [
    "made text, and not read",
    (request, _, next) => {
      request.setEncoding("utf8");
      next();
    },
  ],
];

it.each(touches)("reads a body that others have %s, however it comes", async (_, touch) => {
  const { url, peer, errors } = await behind(touch);
  expect((await peer.call("echo", { text: "größer" })).result).toMatchObject(text("echo"));
  const body = ReadableStream.from([Buffer.from('{"jsonrpc":"2.0",'), Buffer.from('"id":1}')]);
  const headers = { "Content-Type": "application/json" };
  const streamed = { method: "POST", headers, body, duplex: "half" } as RequestInit;
  expect((await fetch(url, streamed)).status).toBe(400); // understood: it is no request
  expect(errors).toEqual([]);
});

it.each(parsers)("takes a body that was read as %s", async (_, parser) => {
  const { peer, errors } = await behind(parser);
  expect(await peer.ended(await peer.start("bare"))).toMatchObject({ result: text("bare") });
  expect(errors).toEqual([]);
});

it.each(parsers)("holds a body that was read as %s to the limits of others", async (_, parser) => {
  const { url, peer } = await behind(parser, {
    options: { maxNesting: 20, maxNodes: 20_000 },
    http: { maxRequestBodySize: 100_000 },
  });
  const refused = async (args: object): Promise<unknown> => {
    const { status, error } = await peer.call("echo", args);
    return [status, error?.message];
  };
  expect(await refused({ long: "x".repeat(200_000) })).toEqual([413, expect.stringContaining("100000")]);
  expect(await refused({ a: JSON.parse("[".repeat(30) + "]".repeat(30)) as unknown })).toEqual([
    400,
    expect.stringContaining("20 levels"),
  ]);
  expect(await refused({ many: Array<number>(30_000).fill(1) })).toEqual([
    400,
    expect.stringContaining("20000 values"),
  ]);
  expect((await peer.call("echo", { fine: true })).status).toBe(200);
  // What says that it is large is refused by its word, as it is when we read it.
  const chunks = ReadableStream.from([Buffer.from(JSON.stringify({ long: "x".repeat(200_000) }))]);
  const headers = { "Content-Type": "application/json" };
  const streamed = { method: "POST", headers, body: chunks, duplex: "half" } as RequestInit;
  expect((await fetch(url, streamed)).status).toBe(413);
});

it("is not overflowed by a body that is nested too deeply to be written as text", async () => {
  const { url } = await behind(express.json({ limit: "100mb" }));
  const deep = `{"a":${"[".repeat(500_000)}${"]".repeat(500_000)}}`;
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch(url, { method: "POST", headers, body: deep });
  expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining("levels deep")]);
});

/** A Fastify application that reads bodies before us. */
function fastifyBehind() {
  const { handler, errors } = handlerOf(echo);
  const app = fastify({ forceCloseConnections: true });
  app.all("/mcp", (request, reply) => {
    reply.hijack();
    handler(request.raw, reply.raw, { parsedBody: request.body });
  });
  onTestFinished(() => app.close());
  return { app, errors };
}

it("takes a body that Fastify has read", async () => {
  const { app, errors } = fastifyBehind();
  const peer = new StatelessClient(`${await app.listen({ host: "127.0.0.1", port: 0 })}/mcp`);
  expect(await peer.ended(await peer.start("bare"))).toMatchObject({ result: text("bare") });
  expect(errors).toEqual([]);
});

it("refuses JSON that is no message as it does when it reads it", async () => {
  const { app, errors } = fastifyBehind();
  const { url } = await behind(express.json({ strict: false }));
  const message = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
  for (const at of [url, `${await app.listen({ host: "127.0.0.1", port: 0 })}/mcp`]) {
    // What looks into the body before us sees no method in a message that is a string.
    for (const body of [null, 5, "hello", JSON.stringify(message)]) {
      const headers = { "Content-Type": "application/json" };
      const answer = await fetch(at, { method: "POST", headers, body: JSON.stringify(body) });
      expect([answer.status, await answer.text()]).toEqual([
        400,
        expect.stringContaining("not a valid JSON-RPC"),
      ]);
    }
  }
  expect(errors).toEqual([]);
});

it("answers requests that a test injects, without a connection", async () => {
  const { app, errors } = fastifyBehind();
  const { statusCode, body } = await app.inject({
    method: "POST",
    url: "/mcp",
    headers: { host: "localhost", accept: "application/json, text/event-stream" },
    payload: {
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: {
        protocolVersion: "2025-11-25",
        capabilities: {},
        clientInfo: { name: "a", version: "1" },
      },
    },
  });
  expect([statusCode, body]).toEqual([200, expect.stringContaining("reports")]);
  expect(errors).toEqual([]);
});

it("reads the body itself where a parser left it alone, whatever it put in its place", async () => {
  const { peer } = await behind((request, _, next) => {
    request.body = {}; // as earlier parsers do with what they skip
    next();
  });
  expect((await peer.call("echo", {})).status).toBe(200);
});

it("says what is wrong where a body was read and nobody has it", async () => {
  const { peer, errors } = await behind((request, _, next) => {
    request.resume().once("end", () => next());
  });
  expect((await peer.call("echo", {})).status).toBe(500);
  expect(errors).toMatchObject([
    { code: "configuration", message: expect.stringContaining("parsedBody") as unknown },
  ]);
});

function fetchHandler() {
  const errors: unknown[] = [];
  const tasks = createTasks({ store: memoryStore(), onError: (error) => errors.push(error) });
  tasks.tool("bare", {}, () => text("bare"));
  const handler = createFetchHandler(
    tasks.server(() => new McpServer({ name: "reports", version: "1" })),
    { allowedHosts: "any" },
  );
  onTestFinished(() => handler.close());
  return { handler, errors };
}

it("takes the body and the caller that a framework of fetch hands on", async () => {
  const { handler, errors } = fetchHandler();
  const authInfo = { token: "t", clientId: "app", scopes: [], extra: { sub: "ann" } };
  const peer = new StatelessClient("http://reports.example/mcp", async (url, init) => {
    const request = new Request(url, init);
    return handler.fetch(request, { parsedBody: await request.json(), authInfo });
  });
  expect(await peer.ended(await peer.start("bare"))).toMatchObject({ result: text("bare") });
  const careless = new StatelessClient("http://reports.example/mcp", async (url, init) => {
    const request = new Request(url, init);
    await request.json();
    return handler.fetch(request);
  });
  expect((await careless.call("bare")).status).toBe(500);
  expect(errors).toMatchObject([{ message: expect.stringContaining("parsedBody") as unknown }]);
});

it("refuses a body that is a stream of strings, and counts those of others as before", async () => {
  const { handler, errors } = fetchHandler();
  const of = (body: () => ReadableStream) =>
    new StatelessClient("http://reports.example/mcp", (url, { headers, method } = {}) =>
      handler.fetch(new Request(url, { headers, method, body: body(), duplex: "half" } as RequestInit)),
    );
  const listing = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
  expect((await of(() => ReadableStream.from([listing])).call("bare")).status).toBe(500);
  expect(errors).toMatchObject([{ message: expect.stringContaining("Uint8Array") as unknown }]);
  const large = Buffer.alloc(100_000, " ");
  expect((await of(() => ReadableStream.from([large, Buffer.from("{}")])).call("bare")).status).toBe(400);
});
