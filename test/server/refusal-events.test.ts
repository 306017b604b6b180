import { PassThrough } from "node:stream";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type ServerEvent, type Tasks, type TasksOptions } from "holdfast";
import type { HttpOptions } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { serveStdio } from "holdfast/stdio";
import { expect, it, onTestFinished } from "vitest";
import { text } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";
import { SessionClient } from "../kit/session-client.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { StdioClient } from "../kit/stdio-client.ts";

type Refusal = Extract<ServerEvent, { type: "request.refused" }>;

function tools(tasks: Tasks): void {
  tasks.tool("waits", {}, async (_, task) => {
    await task.elicit("q", { message: "?", requestedSchema: { type: "object", properties: {} } });
    return text("done");
  });
}

/** A server where a caller's name is its token, and what it told of refusals. */
async function start(
  options: Partial<TasksOptions> = {},
  http: HttpOptions = {},
): Promise<{ readonly url: string; readonly refusals: Refusal[] }> {
  const refusals: Refusal[] = [];
  const onEvent = (event: ServerEvent): void => {
    if (event.type === "request.refused") refusals.push(event);
  };
  const authenticate = async (sent: Request): Promise<string | undefined> =>
    sent.headers.get("authorization")?.replace("Bearer ", "");
  const served = await serve({ tools, options: { onEvent, ...options }, http: { authenticate, ...http } });
  return { url: served.http.url, refusals };
}

const headers = { authorization: "Bearer ann" };
const refused = { type: "request.refused", at: expect.any(Number) as number, principal: "ann" };

it("tells of who does not authenticate", async () => {
  const { url, refusals } = await start();
  const peer = new StatelessClient(url);
  for (let times = 0; times < 2; times++) {
    expect((await peer.call("waits")).status).toBe(401); // the second time by a server that knows its name
    await peer.call("waits", {}, { headers });
  }
  const stranger = { ...refused, code: "unauthorized", principal: null, method: "tools/call", status: 401 };
  expect(refusals).toEqual([stranger, stranger]);
});

it("tells of calls that come too fast, and of those for which there is no room", async () => {
  const rates = { callsPerMinute: 2, pollsPerInterval: null };
  const { url, refusals } = await start({ rates, maxUnfinishedPerPrincipal: 1 });
  const peer = new StatelessClient(url);
  await peer.start("waits", {}, { headers });
  await peer.call("waits", {}, { headers });
  await peer.call("waits", {}, { headers });
  expect(refusals).toEqual([
    {
      ...refused,
      code: "limit_reached",
      method: "tools/call",
      message: expect.stringContaining("too many tasks") as string,
    },
    { ...refused, code: "rate_limited", method: "tools/call", status: 429 },
  ]);
});

it("tells of lookups of tasks that their caller does not have", async () => {
  const { url, refusals } = await start();
  const peer = new StatelessClient(url);
  const taskId = await peer.start("waits", {}, { headers });
  const bob = { authorization: "Bearer bob" };
  await peer.send("tasks/get", { taskId }, { headers: bob });
  const unknown = { ...refused, code: "unknown_task", principal: "bob", method: "tasks/get" };
  expect(refusals[0]).toEqual({ ...unknown, message: "Unknown or expired task" });
  expect(JSON.stringify(refusals)).not.toContain(taskId);
});

it("tells of refusals in sessions of earlier revisions", async () => {
  const { url, refusals } = await start();
  const peer = await SessionClient.open(url, { headers });
  await peer.request("tasks/get", { taskId: "none" });
  expect(refusals).toEqual([
    { ...refused, code: "unknown_task", method: "tasks/get", message: "Unknown or expired task" },
  ]);
});

it("tells of faults of its own without what only onError is told", async () => {
  const { url, refusals } = await start({ maxBodyBytes: 1_000 }, { maxRequestBodySize: 2_000 });
  const peer = new StatelessClient(url);
  await peer.call("waits", { large: "x".repeat(3_000) }, { headers });
  expect(refusals).toMatchObject([{ principal: "ann", code: "too_large", status: 413 }]);
});

it("tells of refusals on a pipe", async () => {
  const refusals: ServerEvent[] = [];
  const tasks = createTasks({
    store: memoryStore(),
    stopDeadlineMs: 50,
    rates: { callsPerMinute: 1 },
    onEvent: (event) => event.type === "request.refused" && refusals.push(event),
  });
  tools(tasks);
  const factory = (): McpServer => new McpServer({ name: "reports", version: "1" });
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const server = await serveStdio(tasks.server(factory), { stdin, stdout });
  onTestFinished(() => server.close());
  const pipe = new StdioClient(stdin, stdout);
  await pipe.start("waits");
  await pipe.request("tools/call", { name: "waits" });
  await pipe.request("tasks/get", { taskId: "none" });
  let deep: object = {};
  for (let levels = 0; levels < 300; levels++) deep = { deep };
  await pipe.request("tasks/get", { taskId: "none", deep });
  expect(refusals).toMatchObject([
    {
      code: "rate_limited",
      method: "tools/call",
      message: expect.stringContaining("Too many calls") as string,
    },
    { code: "unknown_task", method: "tasks/get" },
    { code: "invalid_request", method: "tasks/get" },
  ]);
});

it("tells nothing of requests that are answered", async () => {
  const { url, refusals } = await start();
  const peer = new StatelessClient(url);
  const taskId = await peer.start("waits", {}, { headers });
  await peer.get(taskId, { headers });
  await peer.send("tools/list", {}, { headers });
  expect(refusals).toEqual([]);
});
