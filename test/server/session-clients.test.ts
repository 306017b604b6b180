import { fileURLToPath } from "node:url";
import { PassThrough } from "node:stream";
import { Client as NewClient, StreamableHTTPClientTransport as NewHttp } from "@modelcontextprotocol/client";
import { McpServer } from "@modelcontextprotocol/server";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as OldHttp } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { serveStdio } from "holdfast/stdio";
import { expect, it, onTestFinished } from "vitest";
import { text } from "../kit/messages.ts";
import { serve, type Served } from "../kit/server.ts";
import { StdioClient } from "../kit/stdio-client.ts";
import { authorsOwn } from "./session-server.ts";

const capabilities = { elicitation: {}, sampling: {}, roots: {} };
const elicited = { action: "accept", content: { name: "Ann" } } as const;
const sampled = { role: "assistant", model: "m", content: { type: "text", text: "Paris" } } as const;
const roots = { roots: [{ uri: "file:///a" }] };

function own(http = {}): Promise<Served> {
  return serve({ tools: (tasks) => tasks.tool("bare", {}, () => text("bare")), server: authorsOwn, http });
}

/** A client of SDK v1 that answers what it is asked, and keeps what it hears. */
function oldClient(): { client: OldClient; heard: string[]; errors: unknown[] } {
  const client = new OldClient({ name: "old", version: "1" }, { capabilities });
  const heard: string[] = [];
  const errors: unknown[] = [];
  client.onerror = (error) => errors.push(error);
  client.setRequestHandler(ElicitRequestSchema, () => ({ ...elicited }));
  client.setRequestHandler(CreateMessageRequestSchema, () => ({ ...sampled }));
  client.setRequestHandler(ListRootsRequestSchema, () => roots);
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
    heard.push(String(params.data));
  });
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => void heard.push("tools changed"));
  onTestFinished(() => client.close());
  return { client, heard, errors };
}

const call = (name: string, args = {}): { name: string; arguments: object & Record<string, unknown> } => ({
  name,
  arguments: args,
});

it("serves everything of an author's own server to a client of SDK v1", async () => {
  const { http } = await own();
  const { client, heard, errors } = oldClient();
  const transport = new OldHttp(new URL(http.url));
  await client.connect(transport);
  expect(transport.sessionId).toBeDefined();
  expect(client.getServerVersion()).toMatchObject({ name: "reports" });
  expect(await client.callTool(call("echo", { say: "hi" }))).toMatchObject(text("hi"));
  expect(await client.callTool(call("ask_user"))).toMatchObject(text('user: accept {"name":"Ann"}'));
  expect(await client.callTool(call("ask_model"))).toMatchObject(
    text(`model: ${JSON.stringify(sampled.content)}`),
  );
  expect(await client.callTool(call("roots"))).toMatchObject(text("roots: file:///a"));
  await client.setLoggingLevel("info");
  const progress: number[] = [];
  await client.callTool(call("progress"), undefined, {
    onprogress: (reported) => void progress.push(reported.progress),
  });
  await client.callTool(call("announce"));
  await expect.poll(() => heard).toEqual(["half way", "tools changed"]);
  expect(progress).toEqual([1]);
  expect(await client.readResource({ uri: "test://note" })).toMatchObject({ contents: [{ text: "a note" }] });
  expect(await client.getPrompt({ name: "greeting" })).toMatchObject({ messages: [{ role: "user" }] });
  await expect(client.callTool(call("echo", {}))).resolves.toMatchObject({ isError: true });
  await expect(client.readResource({ uri: "test://none" })).rejects.toMatchObject({ code: -32602 });
  expect(errors).toEqual([]);
  await transport.terminateSession();
  await expect(client.ping()).rejects.toThrow();
});

it("serves a client of SDK v2 on the revision that it speaks", async () => {
  const { http } = await own();
  for (const [mode, version] of [
    ["legacy", "2025-11-25"],
    ["auto", "2026-07-28"],
  ] as const) {
    const client = new NewClient(
      { name: "new", version: "1" },
      { capabilities, versionNegotiation: { mode } },
    );
    client.setRequestHandler("elicitation/create", () => elicited);
    client.setRequestHandler("sampling/createMessage", () => sampled);
    client.setRequestHandler("roots/list", () => roots);
    await client.connect(new NewHttp(new URL(http.url)));
    onTestFinished(() => client.close());
    expect(client.getNegotiatedProtocolVersion()).toBe(version);
    expect(await client.callTool(call("echo", { say: "hi" }))).toMatchObject(text("hi"));
    if (mode === "auto") continue; // there, nobody is asked but on the call itself
    expect(await client.callTool(call("ask_user"))).toMatchObject(text('user: accept {"name":"Ann"}'));
    expect(await client.callTool(call("ask_model"))).toMatchObject(
      text(`model: ${JSON.stringify(sampled.content)}`),
    );
    expect(await client.callTool(call("roots"))).toMatchObject(text("roots: file:///a"));
  }
});

it("serves clients of both SDKs without sessions, whose tools cannot ask", async () => {
  const { http } = await own({ sessions: false });
  const { client: old, errors } = oldClient();
  const transport = new OldHttp(new URL(http.url));
  await old.connect(transport);
  expect(transport.sessionId).toBeUndefined();
  const fresh = new NewClient(
    { name: "new", version: "1" },
    { capabilities, versionNegotiation: { mode: "legacy" } },
  );
  await fresh.connect(new NewHttp(new URL(http.url)));
  onTestFinished(() => fresh.close());
  for (const client of [old, fresh]) {
    expect(await client.callTool(call("echo", { say: "hi" }))).toMatchObject(text("hi"));
    expect(await client.callTool(call("ask_user"))).toMatchObject({ isError: true });
    expect(await client.readResource({ uri: "test://note" })).toMatchObject({
      contents: [{ text: "a note" }],
    });
  }
  expect(errors).toEqual([]);
});

it("serves a client of SDK v1 over the pipes of a process", async () => {
  const { client } = oldClient();
  const main = fileURLToPath(new URL("../../test/everything/main.ts", import.meta.url));
  const env = { HOLDFAST_STORE: "memory:" };
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [main, "--stdio"], env, stderr: "inherit" }),
  );
  expect(await client.callTool(call("test_elicitation_sep1034_defaults"))).toMatchObject(
    text('User response: action=accept, content={"name":"Ann"}'),
  );
  expect(await client.callTool(call("test_sampling", { prompt: "Capital?" }))).toMatchObject(
    text("LLM response: Paris"),
  );
  expect(await client.subscribeResource({ uri: "test://watched-resource" })).toEqual({});
});

it("lets an author's tool ask on a pipe, and be cancelled there", async () => {
  const tasks = createTasks({
    store: memoryStore(),
    stopDeadlineMs: 100,
    rates: { pollsPerInterval: null, maxLoopDelayMs: null },
  });
  const aborted = Promise.withResolvers<void>();
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const server = await serveStdio(
    tasks.server(() => {
      const mcp = new McpServer({ name: "reports", version: "1" });
      authorsOwn(mcp);
      mcp.registerTool("forever", {}, ({ mcpReq }) => {
        mcpReq.signal.addEventListener("abort", () => aborted.resolve());
        return new Promise(() => undefined);
      });
      return mcp;
    }),
    { stdin, stdout },
  );
  onTestFinished(() => server.close());
  const pipe = new StdioClient(stdin, stdout);
  const clientInfo = { name: "old", version: "1" };
  pipe.write({
    id: 0,
    method: "initialize",
    params: { protocolVersion: "2024-11-05", capabilities, clientInfo },
  });
  expect(await pipe.next()).toMatchObject({ id: 0, result: { protocolVersion: "2024-11-05" } });
  pipe.write({ method: "notifications/initialized" });
  pipe.write({ id: 1, method: "tools/call", params: call("ask_user") });
  const question = await pipe.next();
  expect(question).toMatchObject({ method: "elicitation/create" });
  pipe.write({ id: question?.["id"], result: elicited });
  expect(await pipe.next()).toMatchObject({ id: 1, result: text('user: accept {"name":"Ann"}') });
  pipe.write({ id: 2, method: "tools/call", params: call("forever") });
  pipe.write({ id: 3, method: "ping" });
  expect(await pipe.next()).toMatchObject({ id: 3, result: {} });
  pipe.cancel(2);
  await aborted.promise;
});
