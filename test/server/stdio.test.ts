import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text as readAll } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type Tasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { serveStdio, type StdioServer } from "holdfast/stdio";
import { expect, it, onTestFinished, vi } from "vitest";
import { tasksExtension, text, withoutTasks } from "../kit/messages.ts";
import { StdioClient } from "../kit/stdio-client.ts";
import { acknowledged, subscriptionKey } from "../kit/subscription.ts";

interface Piped {
  readonly pipe: StdioClient;
  readonly server: StdioServer;
  readonly store: ReturnType<typeof memoryStore>;
  readonly errors: unknown[];
  /** The author's own server on this connection, once there is one. */
  readonly mcp: () => McpServer | undefined;
  readonly stdout: PassThrough;
}

/** A server and its client in this process. */
async function piped(register: (tasks: Tasks) => void): Promise<Piped> {
  const store = memoryStore();
  const errors: unknown[] = [];
  const tasks = createTasks({
    store,
    stopDeadlineMs: 100,
    rates: { pollsPerInterval: null, maxLoopDelayMs: null },
    onError: (error) => errors.push(error),
  });
  register(tasks);
  let mcp: McpServer | undefined;
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const factory = (): McpServer => (mcp = new McpServer({ name: "reports", version: "1.2.3" }));
  const server = await serveStdio(tasks.server(factory), { stdin, stdout });
  onTestFinished(() => server.close());
  return { pipe: new StdioClient(stdin, stdout), server, store, errors, mcp: () => mcp, stdout };
}

/** Waits until the test says how it ends. */
function waiting(): { register: (tasks: Tasks) => void; end: (value: string) => void } {
  const { promise, resolve } = Promise.withResolvers<string>();
  return {
    register: (tasks) => tasks.tool("waits", {}, async () => text(await promise)),
    end: resolve,
  };
}

const ack = (id: string | number, notifications: object): object => ({
  jsonrpc: "2.0",
  method: acknowledged,
  params: { notifications, _meta: { [subscriptionKey]: id } },
});

it("tells several listens on one pipe apart [X-086 X-B-012 X-B-013 A-26 A-27]", async () => {
  const { register, end } = waiting();
  const { pipe } = await piped(register);
  const id = await pipe.start("waits");
  for (const subscription of [7, "7"]) {
    pipe.listen(subscription, { taskIds: ["no-such-task", id] });
    expect(await pipe.next()).toEqual(ack(subscription, { taskIds: [id] }));
    expect(await pipe.next()).toMatchObject({
      method: "notifications/tasks",
      params: { taskId: id, status: "working", _meta: { [subscriptionKey]: subscription } },
    });
  }
  end("report");
  for (const subscription of [7, "7"]) {
    expect(await pipe.next()).toMatchObject({
      params: { status: "completed", result: text("report"), _meta: { [subscriptionKey]: subscription } },
    });
  }
});

it("ends a listen that is cancelled, and no other [X-B-017]", async () => {
  const { register, end } = waiting();
  const { pipe } = await piped(register);
  const id = await pipe.start("waits");
  for (const subscription of [1, 2]) {
    pipe.listen(subscription, { taskIds: [id] });
    await pipe.next();
    await pipe.next();
  }
  pipe.cancel(1);
  pipe.listen(3, { taskIds: [id] });
  pipe.cancel(3); // before it was acknowledged
  expect(await pipe.request("tasks/get", { taskId: id })).toMatchObject({ status: "working" });
  end("report");
  expect(await pipe.next()).toMatchObject({
    params: { status: "completed", _meta: { [subscriptionKey]: 2 } },
  });
  expect(await pipe.request("tasks/get", { taskId: id })).toMatchObject({ status: "completed" });
});

it("leaves the other filters to the SDK, and sends only what was asked for [X-B-014]", async () => {
  const { pipe, mcp } = await piped(waiting().register);
  const id = await pipe.start("waits");
  pipe.listen("both", { taskIds: [id], toolsListChanged: true });
  expect(await pipe.next()).toEqual(ack("both", { toolsListChanged: true, taskIds: [id] }));
  await pipe.next();
  pipe.listen("tasks", { taskIds: [id] });
  expect(await pipe.next()).toEqual(ack("tasks", { taskIds: [id] }));
  await pipe.next();
  pipe.listen("tools", { toolsListChanged: true }, withoutTasks);
  expect(await pipe.next()).toEqual(ack("tools", { toolsListChanged: true }));
  mcp()?.sendToolListChanged();
  for (const subscription of ["both", "tools"]) {
    expect(await pipe.next()).toEqual({
      jsonrpc: "2.0",
      method: "notifications/tools/list_changed",
      params: { _meta: { [subscriptionKey]: subscription } },
    });
  }
  expect(await pipe.request("tasks/get", { taskId: id })).toMatchObject({ status: "working" });
});

it("refuses to listen without the extension, and ids that are none [X-087 A-28 A-29]", async () => {
  const { pipe } = await piped(waiting().register);
  pipe.listen(1, { taskIds: [], toolsListChanged: "yes" }, withoutTasks);
  expect(await pipe.next()).toMatchObject({
    id: 1,
    error: { code: -32021, data: { requiredCapabilities: { extensions: tasksExtension } } },
  });
  pipe.listen(2, { taskIds: "all" });
  expect(await pipe.next()).toMatchObject({ id: 2, error: { code: -32602 } });
  pipe.write({ id: 3, method: "subscriptions/listen", params: { notifications: { taskIds: [] } } });
  expect(await pipe.next()).toMatchObject({ id: 3, error: { code: -32602 } });
  pipe.listen(1, { taskIds: [] });
  expect(await pipe.next()).toEqual(ack(1, { taskIds: [] }));
});

it("answers what is listened to when it closes [X-B-015 A-33]", async () => {
  const { pipe, server } = await piped(waiting().register);
  pipe.listen(1, { taskIds: ["unknown"] });
  await pipe.next();
  await server.close();
  expect(await pipe.next()).toMatchObject({
    id: 1,
    result: { resultType: "complete", _meta: { [subscriptionKey]: 1 } },
  });
});

it("ends a listen when the store cannot be read, so that the client listens again", async () => {
  const { register, end } = waiting();
  const { pipe, store, errors } = await piped(register);
  const id = await pipe.start("waits");
  pipe.listen(1, { taskIds: [id] });
  await pipe.next();
  await pipe.next();
  const fault = new Error("disk is gone");
  vi.spyOn(store, "snapshot").mockRejectedValueOnce(fault);
  end("unread");
  expect(await pipe.next()).toMatchObject({ id: 1, result: { resultType: "complete" } });
  expect(errors).toEqual([fault]);
  pipe.listen(1, { taskIds: [id] });
  expect(await pipe.next()).toEqual(ack(1, { taskIds: [id] }));
  expect(await pipe.next()).toMatchObject({ params: { status: "completed" } });
});

it("reads no more for a client that does not read, however often it listens, and closes all the same", async () => {
  const store = memoryStore();
  const tasks = createTasks({ store, stopDeadlineMs: 100 });
  const context = Promise.withResolvers<{ status: (text: string) => Promise<void> }>();
  tasks.tool("talks", {}, async (_, task) => {
    context.resolve(task);
    await new Promise((resolve) => task.signal.addEventListener("abort", resolve));
    return text("over");
  });
  const [stdin, stdout] = [new PassThrough(), new PassThrough({ highWaterMark: 1 })];
  const server = await serveStdio(
    tasks.server(() => new McpServer({ name: "reports", version: "1" })),
    { stdin, stdout },
  );
  const pipe = new StdioClient(stdin, stdout);
  const id = await pipe.start("talks");
  for (let listen = 0; listen < 20; listen++) {
    pipe.listen(listen, { taskIds: [id] });
    await pipe.next();
    await pipe.next();
  }
  stdout.pause();
  const task = await context.promise;
  const reads = vi.spyOn(store, "snapshot");
  for (let n = 0; n < 200; n++) await task.status(`page ${n}`);
  expect(reads.mock.calls.length).toBeLessThan(60);
  await server.close();
});

it("speaks an earlier version with a client that opens with it", async () => {
  const { pipe } = await piped(waiting().register);
  const clientInfo = { name: "old", version: "1" };
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
  pipe.write({ id: 0, method: "initialize", params });
  expect(await pipe.next()).toMatchObject({ id: 0, result: { protocolVersion: "2025-06-18" } });
  pipe.write({ method: "notifications/initialized" });
  // A later revision's method is not known here, whatever it names.
  pipe.write({ id: 1, method: "subscriptions/listen", params: { notifications: { taskIds: ["a"] } } });
  expect(await pipe.next()).toMatchObject({ id: 1, error: { code: -32601 } });
});

async function child(
  database: string,
): Promise<{ process: ChildProcessWithoutNullStreams; pipe: StdioClient }> {
  const script = fileURLToPath(new URL("stdio-server.ts", import.meta.url));
  const process_ = spawn(process.execPath, [script, database], { stdio: "pipe" });
  onTestFinished(() => void process_.kill("SIGKILL"));
  await once(process_, "spawn");
  return { process: process_, pipe: new StdioClient(process_.stdin, process_.stdout) };
}

it("serves a real process over pipes: ends with stdin, and the next one goes on", async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const database = join(folder, "tasks.db");

  const first = await child(database);
  const stderr = readAll(first.process.stderr);
  expect(await first.pipe.request("tools/list")).toMatchObject({ tools: [{ name: "greet" }] });
  const id = await first.pipe.start("greet");
  first.pipe.listen(1, { taskIds: [id] });
  expect(await first.pipe.next()).toEqual(ack(1, { taskIds: [id] }));
  first.pipe.end();
  const [code] = (await once(first.process, "close")) as [number | null];
  expect([code, await stderr]).toEqual([0, ""]);

  const second = await child(database);
  second.pipe.listen(1, { taskIds: [id] });
  expect(await second.pipe.next()).toEqual(ack(1, { taskIds: [id] }));
  await second.pipe.until("input_required");
  const inputResponses = { name: { action: "accept", content: { name: "Ann" } } };
  second.pipe.send(2, "tasks/update", { taskId: id, inputResponses });
  expect(await second.pipe.until("completed")).toMatchObject({ result: text("hello Ann") });
  const closed = once(second.process, "close");
  second.process.kill("SIGTERM");
  expect(await second.pipe.next()).toMatchObject({ id: 1, result: { resultType: "complete" } });
  expect(await second.pipe.next()).toBeUndefined();
  await closed; // although its stdin is still open
  expect(second.process.exitCode).toBe(0);
});

it("refuses requests that are no JSON-RPC under their ids, and goes on", async () => {
  const { pipe, errors } = await piped((tasks) => tasks.tool("greet", {}, () => text("hello")));
  const refused = (id: unknown) => ({ jsonrpc: "2.0", id, error: { code: -32_600 } });
  for (const [line, id] of [
    ['{"jsonrpc":"2.0","id":"a","method":"tools/call","params":null}', "a"],
    ['{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"greet","_meta":null}}', 7],
    ['{"id":8,"method":"tools/list"}', 8],
    ['{"jsonrpc":"2.0","id":{},"method":"ping"}', null],
    ['[{"jsonrpc":"2.0","id":9,"method":"ping"}]', null],
  ] as const) {
    pipe.writeLine(line);
    expect(await pipe.next()).toMatchObject(refused(id));
  }
  for (const nobodyWaits of ["{", "null", '{"method":5}']) pipe.writeLine(nobodyWaits);
  expect(await pipe.request("tools/call", { name: "greet", arguments: {} })).toMatchObject({
    resultType: "task",
  });
  expect(errors).toEqual([]);
});
