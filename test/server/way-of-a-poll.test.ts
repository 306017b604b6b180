import { Session } from "node:inspector/promises";
import { McpServer } from "@modelcontextprotocol/server";
import express from "express";
import { createTasks } from "holdfast";
import { serveHttp, type HttpOptions, type HttpServer } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished, vi } from "vitest";
import { handlerOf, served } from "./http-mount/mount.ts";
import { head, RawConnection } from "../kit/raw-connection.ts";
import { text } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";
import { SessionClient } from "../kit/session-client.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { Subscription } from "../kit/subscription.ts";

/** The files of ours that run during `work`. */
async function filesIn(work: () => Promise<unknown>): Promise<string[]> {
  const inspector = new Session();
  inspector.connect();
  try {
    await inspector.post("Profiler.enable");
    await inspector.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
    await inspector.post("Profiler.takePreciseCoverage"); // what ran before
    await work();
    const { result } = await inspector.post("Profiler.takePreciseCoverage");
    return result
      .filter(({ functions }) => functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0))
      .map(({ url }) => /\/src\/(.*\.ts)/.exec(url)?.[1])
      .filter((file) => file !== undefined);
  } finally {
    inspector.disconnect();
  }
}

/** The files that run in each of several runs of `work`: what else goes on in the process comes and goes. */
async function filesInAll(work: () => Promise<unknown>): Promise<string[]> {
  const first = await filesIn(work);
  const others = [await filesIn(work), await filesIn(work), await filesIn(work)];
  return first.filter((file) => others.every((files) => files.includes(file)));
}

it("answers tasks/get through few files, and through no McpServer", async () => {
  const { http } = await serve({ tools: (tasks) => tasks.tool("add", {}, () => text("42")) });
  const peer = new StatelessClient(http.url);
  const id = await peer.start("add");
  await peer.until(id, "completed");
  const files = await filesInAll(() => peer.send("tasks/get", { taskId: id }));
  expect(files).toContain("server/2026-07-28/dispatcher.ts");
  expect(files.filter((file) => file.startsWith("server/")).length).toBeLessThanOrEqual(21);
  expect(files).not.toContain("server/author-server.ts");
});

it("answers a listen request for tasks where it answers polls", async () => {
  const { http } = await serve({ tools: (tasks) => tasks.tool("add", {}, () => text("42")) });
  const peer = new StatelessClient(http.url);
  const id = await peer.start("add");
  await peer.until(id, "completed");
  const files = await filesInAll(async () => {
    const subscription = await Subscription.to(http.url, { taskIds: [id] });
    await subscription.next(); // the acknowledgement
    await subscription.task();
    await subscription.leave();
  });
  expect(files).toContain("server/http/task-listeners.ts");
  expect(files.filter((file) => file.startsWith("server/")).length).toBeLessThanOrEqual(23);
  expect(files).not.toContain("server/author-server.ts");
});

it("runs nothing that traces or measures where there is no telemetry", async () => {
  const { http } = await serve({ tools: (tasks) => tasks.tool("add", {}, () => text("42")) });
  const [peer, session] = [new StatelessClient(http.url), await SessionClient.open(http.url)];
  const files = await filesIn(async () => {
    const id = await peer.start("add");
    await peer.ended(id);
    await peer.send("tools/list");
    await session.request("tasks/get", { taskId: id });
    await session.call("add");
  });
  expect(files.filter((file) => /^(?:server\/tracing\.ts|telemetry\/)/.test(file))).toEqual([]);
});

/** How many web `Request`s this process makes during `work`. */
async function requestsIn(work: () => Promise<unknown>): Promise<number> {
  let made = 0;
  const { Request: Original } = globalThis;
  class Counted extends Original {
    constructor(...given: ConstructorParameters<typeof Original>) {
      super(...given);
      made += 1;
    }
  }
  vi.stubGlobal("Request", Counted);
  try {
    await work();
  } finally {
    vi.unstubAllGlobals();
  }
  return made;
}

it("makes no web Request for what is ours, however its body arrives", async () => {
  const { http } = await serve({ tools: (tasks) => tasks.tool("add", {}, () => text("42")) });
  const peer = new StatelessClient(http.url);
  const id = await peer.start("add");
  await peer.until(id, "completed");
  const session = await SessionClient.open(http.url);
  const made = await requestsIn(async () => {
    const subscription = await Subscription.to(http.url, { taskIds: [id] });
    await subscription.next();
    await subscription.leave();
    await peer.start("add");
    await peer.call("add", { long: "x".repeat(200_000) });
    await session.request("tasks/get", { taskId: id });
    for (const form of ["application/json", "application/json; charset=utf-8"])
      await peer.send(
        "tasks/get",
        { taskId: id },
        { headers: { "content-type": form, origin: "http://localhost" } },
      );
  });
  expect(made).toBe(0);
  expect(await requestsIn(() => peer.send("tools/list"))).toBe(1);
});

it("answers tasks/get through the same files in an application, whether something read the body before or not", async () => {
  const { handler } = handlerOf();
  const [before, after] = [express(), express()];
  before.use(handler, express.json());
  after.use(express.json(), handler);
  for (const app of [before, after]) {
    const peer = new StatelessClient(`${(await served(app)).origin}/mcp`);
    const id = await peer.start("bare");
    await peer.until(id, "completed");
    const files = await filesIn(() => peer.send("tasks/get", { taskId: id }));
    expect(files).toContain("server/http/node-requests.ts");
    expect(files).toContain("server/2026-07-28/dispatcher.ts");
  }
});

/** A server whose author's servers are counted. */
async function counted(options: HttpOptions = {}): Promise<{ http: HttpServer; made: McpServer[] }> {
  const tasks = createTasks({
    store: memoryStore(),
    stopDeadlineMs: 100,
    rates: { pollsPerInterval: null, maxLoopDelayMs: null },
  });
  tasks.tool("add", {}, () => text("42"));
  const made: McpServer[] = [];
  const server = tasks.server(() => {
    const mcp = new McpServer({ name: "reports", version: "1.2.3" });
    made.push(mcp);
    return mcp;
  });
  const http = await serveHttp(server, { port: 0, ...options });
  onTestFinished(() => http.close());
  return { http, made };
}

it("makes one server of the author's for its name, and no other for requests of ours", async () => {
  const { http, made } = await counted();
  made.length = 0; // those that were made to see that the factory makes servers
  const peer = new StatelessClient(http.url);
  const id = await peer.start("add");
  await peer.until(id, "completed");
  await peer.call("add", {}, { capabilities: {} });
  await peer.send("tasks/cancel", { taskId: id });
  await (await Subscription.to(http.url, { taskIds: [id] })).next();
  // An encoded name is for the SDK to judge, which it does without a server of the author's.
  const encoded = `=?base64?${Buffer.from(id).toString("base64")}?=`;
  const read = await peer.send("tasks/get", { taskId: id }, { headers: { "Mcp-Name": encoded } });
  expect(read.result).toMatchObject({ status: "completed" });
  expect(made.length).toBe(1);
  await peer.send("tools/list");
  expect(made.length).toBe(2);
});

it("makes no server of the author's for polls without a session", async () => {
  const { http, made } = await counted({ sessions: false, anonymous: "shared" });
  const peer = await SessionClient.open(http.url);
  const { result } = await peer.request("tools/call", { name: "add", arguments: {}, task: {} });
  const { taskId } = (result as { task: { taskId: string } }).task;
  made.length = 0;
  for (const method of ["tasks/get", "tasks/list", "tasks/cancel"]) {
    expect(await peer.request(method, { taskId })).toMatchObject({ jsonrpc: "2.0" });
  }
  expect(await peer.request("tasks/get", { taskId: "none" })).toMatchObject({ error: { code: -32_602 } });
  expect(made.length).toBe(0);
});

it.each(["tasks/get", "tasks/list", "tasks/cancel", "tasks/delete"])(
  "authenticates the sender of %s in a session once",
  async (method) => {
    let times = 0;
    const authenticate = async (): Promise<string> => {
      times += 1;
      return "ann";
    };
    const tools = (): void => undefined;
    const { http } = await serve({ tools, http: { authenticate } });
    const peer = await SessionClient.open(http.url);
    times = 0;
    await peer.request(method, { taskId: "none" });
    expect(times).toBe(1);
  },
);

it("authenticates the sender of a request once where the session is unknown, and before the body comes", async () => {
  let times = 0;
  const authenticate = async ({ headers }: Request): Promise<string | undefined> => {
    times += 1;
    return headers.get("authorization") === "ann" ? "ann" : undefined;
  };
  const { http } = await serve({ tools: () => undefined, http: { authenticate } });
  const session = ["Mcp-Session-Id: unknown", "MCP-Protocol-Version: 2025-11-25"];
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tasks/get", params: { taskId: "a" } });
  const length = `Content-Length: ${body.length}`;
  const known = await RawConnection.to(http.port, head(length, "Authorization: ann", ...session), body);
  expect(await known.statuses()).toEqual([404]);
  expect(times).toBe(1);
  const stranger = await RawConnection.to(http.port, head(length, ...session));
  expect(await stranger.statuses()).toEqual([401]);
  expect(times).toBe(2);
});

it("asks the author's server for its name for each caller by itself", async () => {
  const tasks = createTasks({ store: memoryStore(), stopDeadlineMs: 100, onError: () => undefined });
  tasks.tool("add", {}, () => text("42"));
  const entered = Promise.withResolvers<void>();
  const server = tasks.server(async ({ requestInfo }) => {
    const name = requestInfo?.headers.get("authorization") ?? "";
    if (name === "slow") {
      entered.resolve();
      await new Promise(() => undefined);
    }
    if (name === "bad") throw new Error("unknown tenant");
    return new McpServer({ name: `server of ${name}`, version: "1" });
  });
  const authenticate = async ({ headers }: Request): Promise<string> => headers.get("authorization") ?? "";
  const http = await serveHttp(server, { port: 0, authenticate });
  onTestFinished(() => http.close());
  const peer = new StatelessClient(http.url);
  const as = (authorization: string, signal?: AbortSignal): ReturnType<StatelessClient["send"]> =>
    peer.call("add", {}, { headers: { authorization }, ...(signal && { signal }) });
  const leaving = new AbortController();
  const never = as("slow", leaving.signal).catch(() => undefined);
  await entered.promise;
  for (const name of ["ann", "bob", "ann"]) {
    const { result } = await as(name);
    expect(result?.["_meta"]).toMatchObject({
      "io.modelcontextprotocol/serverInfo": { name: `server of ${name}` },
    });
  }
  expect((await as("bad")).status).toBe(500);
  leaving.abort();
  await never;
});
