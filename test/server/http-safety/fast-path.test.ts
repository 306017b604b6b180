import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type Tasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished } from "vitest";
import * as z from "zod";
import { text } from "../../kit/messages.ts";
import { serve, type Served, type Setup } from "../../kit/server.ts";
import { SessionClient } from "../../kit/session-client.ts";
import { StatelessClient } from "../../kit/stateless-client.ts";

const tools = (tasks: Tasks): void =>
  void tasks.tool("echo", { inputSchema: z.looseObject({}), task: "forbidden" }, () => text("done"));

/** A server that knows its name, so that it answers requests of 2026-07-28 before the SDK sees them. */
async function ready(setup: Omit<Setup, "tools"> = {}): Promise<Served & { readonly peer: StatelessClient }> {
  const served = await serve({ tools, ...setup });
  const peer = new StatelessClient(served.http.url);
  await peer.send("tasks/get", { taskId: "unknown" });
  return { ...served, peer };
}

it("refuses a small body that is larger than the server's own limit", async () => {
  const { peer } = await ready({ http: { maxRequestBodySize: 1_000 } });
  expect((await peer.call("echo", { long: "x".repeat(2_000) })).status).toBe(413);
  expect((await peer.call("echo", { long: "x" })).status).toBe(200);
});

it.each(["clientInfo", "logLevel"])("refuses null for %s, also after a request without it", async (name) => {
  const { peer } = await ready();
  const meta = { [`io.modelcontextprotocol/${name}`]: null };
  const { status, error } = await peer.call("echo", {}, { meta });
  expect({ status, code: error?.code }).toEqual({ status: 400, code: -32602 });
});

it("refuses a tool's name that cannot be read as text", async () => {
  const { peer, http, errors } = await ready();
  const params = { name: { toString: 1, valueOf: 1 }, arguments: {} };
  const headers = { "mcp-name": "echo" };
  expect((await peer.send("tools/call", params, { headers })).error?.code).toBe(-32602);
  const session = await SessionClient.open(http.url);
  expect(await session.request("tools/call", params)).toMatchObject({ error: { code: -32602 } });
  expect(errors).toEqual([]);
});

it("survives a fault while it looks at a message, and reports it once", async () => {
  const errors: unknown[] = [];
  const onError = (error: unknown): void => void errors.push(error);
  const tasks = createTasks({ store: memoryStore(), stopDeadlineMs: 100, onError });
  tools(tasks);
  const server = tasks.server(() => new McpServer({ name: "reports", version: "1.2.3" }));
  const fault = new Error("broken");
  const declaresHeaders = (): never => {
    throw fault;
  };
  const http = await serveHttp(Object.assign(Object.create(server) as typeof server, { declaresHeaders }), {
    port: 0,
  });
  onTestFinished(() => http.close());
  const peer = new StatelessClient(http.url);
  await peer.send("tasks/get", { taskId: "unknown" });
  expect((await peer.call("echo", {})).status).toBe(500);
  expect(errors).toEqual([fault]);
  expect((await peer.send("tasks/get", { taskId: "unknown" })).status).toBe(200);
});
