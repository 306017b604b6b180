import { PassThrough } from "node:stream";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, HoldfastError } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { serveStdio } from "holdfast/stdio";
import { expect, it, onTestFinished } from "vitest";
import { text } from "../kit/messages.ts";
import { StdioClient } from "../kit/stdio-client.ts";
import { Job } from "./plain/job.ts";

const factory = (): McpServer => new McpServer({ name: "reports", version: "1" });

it("refuses what a client asks on a pipe beyond what it has open, until that is answered or cancelled", async () => {
  const job = new Job();
  const tasks = createTasks({ store: memoryStore(), stopDeadlineMs: 50 });
  job.add(tasks, { joinCalls: false });
  tasks.tool("now", { task: "forbidden" }, () => text("now"));
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const server = await serveStdio(tasks.server(factory), { stdin, stdout, maxOpenRequests: 2 });
  onTestFinished(() => server.close());
  const pipe = new StdioClient(stdin, stdout);
  const call = (id: string, name: string): void => pipe.send(id, "tools/call", { name, arguments: {} }, {});
  call("first", "job");
  call("second", "job");
  call("one more", "now");
  expect(await pipe.next()).toMatchObject({
    id: "one more",
    error: {
      code: -32_000,
      message: "2 requests are already open. Wait for some of them, or cancel them.",
      data: { retryAfterMs: 1_000 },
    },
  });
  pipe.cancel("first");
  call("another", "now");
  expect(await pipe.next()).toMatchObject({ id: "another", result: text("now") });
  call("and another", "now");
  expect(await pipe.next()).toMatchObject({ id: "and another", result: text("now") });
  job.end();
});

it("answers a client that reads late without a warning of a leak, and leaves the limit of the stream as it was", async () => {
  const warnings: string[] = [];
  const onWarning = ({ name }: Error): number => warnings.push(name);
  process.on("warning", onWarning);
  onTestFinished(() => void process.off("warning", onWarning));
  const tasks = createTasks({ store: memoryStore() });
  tasks.tool("now", { task: "forbidden" }, () => text("now"));
  const [stdin, stdout] = [new PassThrough(), new PassThrough({ highWaterMark: 1 })];
  const limit = stdout.getMaxListeners();
  const waiting = Promise.withResolvers<void>();
  stdout.on("newListener", (event) => {
    if (event === "drain" && stdout.listenerCount("drain") === 11) waiting.resolve();
  });
  const server = await serveStdio(tasks.server(factory), { stdin, stdout });
  const client = new StdioClient(stdin, new PassThrough());
  for (let id = 1; id <= 13; id += 1) client.send(id, "tools/call", { name: "now", arguments: {} }, {});
  await waiting.promise;
  const reader = new StdioClient(stdin, stdout);
  for (let nth = 1; nth <= 13; nth += 1) expect(await reader.next()).toMatchObject({ result: text("now") });
  await server.close();
  expect(warnings).toEqual([]);
  expect(stdout.getMaxListeners()).toBe(limit);
});

it("answers who has asked for unknown tasks too often also while the store fails", async () => {
  const store = memoryStore();
  const get = store.get.bind(store);
  let fails = false;
  Object.assign(store, {
    get: async (id: string) => {
      if (fails) throw new HoldfastError("store_failed", "The disk is full.");
      return get(id);
    },
  });
  const errors: unknown[] = [];
  const onError = (error: unknown): void => void errors.push(error);
  const tasks = createTasks({ store, stopDeadlineMs: 50, rates: { missesPerMinute: 1 }, onError });
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const server = await serveStdio(tasks.server(factory), { stdin, stdout });
  onTestFinished(() => server.close());
  const pipe = new StdioClient(stdin, stdout);
  for (const code of [-32_602, -32_000])
    expect(await pipe.request("tasks/get", { taskId: "x" })).toMatchObject({ code });
  fails = true;
  expect(await pipe.request("tasks/get", { taskId: "x" })).toMatchObject({
    message: "The task store is not answering. Try again later.",
  });
  expect(errors).toMatchObject([{ code: "store_failed" }]);
});

it("refuses a limit that is none", async () => {
  const tasks = createTasks({ store: memoryStore() });
  await expect(serveStdio(tasks.server(factory), { maxOpenRequests: 0 })).rejects.toMatchObject({
    code: "configuration",
  });
});
