import type { Tasks } from "holdfast";
import { expect, it } from "vitest";
import * as z from "zod";
import { formClient, text } from "../../kit/messages.ts";
import { InMemorySession } from "../../kit/in-memory-session.ts";
import { startServer } from "../../kit/server.ts";
import { FakeStreams } from "./streams.ts";

const requestedSchema = { type: "object" as const, properties: { ok: { type: "string" as const } } };

function tools(tasks: Tasks): void {
  tasks.tool("add", { inputSchema: z.object({ a: z.number() }) }, ({ a }) => text(String(a)));
  tasks.tool("confirm", {}, async (_args, task) => {
    const { content } = await task.elicit("sure", { message: "Sure?", requestedSchema });
    return text(String(content?.["ok"]));
  });
  tasks.tool("sleeps", {}, async (_args, task) => (await task.sleep("long", 3_600_000), text("slept")));
}

const odd = { toString: 1, valueOf: 1 };
it.each<[method: string, params: object]>([
  ["tools/call", { name: odd }],
  ["tools/call", { name: ["add"], arguments: { a: 1 }, task: {} }],
  ["tools/call", { name: "__proto__", task: {} }],
  ["tools/call", { name: "add", arguments: { a: 1 }, task: [] }],
  ["tools/call", { name: "add", arguments: { a: 1 }, task: { ttl: "1" } }],
  ["tasks/get", { taskId: odd }],
  ["tasks/get", { taskId: "__proto__" }],
  ["tasks/get", { taskId: "x".repeat(100_000) }],
  ["tasks/result", { taskId: "\u0000" }],
  ["tasks/cancel", { taskId: 7 }],
  ["tasks/list", { cursor: odd }],
])("answers %s with what it cannot read by an error, and goes on [C-109 C-114]", async (method, params) => {
  const { server, errors } = await startServer(tools);
  const session = await InMemorySession.open(server);
  const error = await session.error(method, params);
  expect([-32601, -32602]).toContain(error["code"]);
  expect(await session.request("ping")).toEqual({});
  expect(errors).toEqual([]);
});

it("refuses arguments that do not fit, where a task is asked for, as an error and with no task [C-022]", async () => {
  const { server } = await startServer(tools);
  const session = await InMemorySession.open(server);
  const error = await session.error("tools/call", { name: "add", arguments: { a: "x" }, task: {} });
  expect(error).toMatchObject({ code: -32602, message: expect.stringContaining("a") as unknown });
  expect(await session.request("tasks/list")).toEqual({ tasks: [] });
  // Without a task it is what the SDK says of any tool.
  const plain = await session.result(session.call("add", { a: "x" }));
  expect(plain).toMatchObject({ isError: true });
});

it("takes an answer that is too large for an error", async () => {
  const { server } = await startServer(tools, { maxBodyBytes: 10_000 });
  const session = await InMemorySession.open(server, { capabilities: formClient });
  const taskId = await session.start("confirm");
  session.reply(await session.asked("elicitation/create"), {
    action: "accept",
    content: { ok: "x".repeat(20_000) },
  });
  const result = await session.request("tasks/result", { taskId });
  expect(result).toMatchObject({ isError: true });
  expect(JSON.stringify(result)).toContain("larger than");
});

it("sends nothing more of a call that was answered directly", async () => {
  let report = (): void => undefined;
  const reported = Promise.withResolvers<void>();
  const { server } = await startServer((tasks) =>
    tasks.tool("hasty", {}, async (_args, task) => {
      let done = 0;
      report = () => task.progress((done += 1));
      report();
      await reported.promise;
      return text("done");
    }),
  );
  const session = await InMemorySession.open(server);
  const call = session.call("hasty", {}, { _meta: { progressToken: "p" } });
  await session.asked("notifications/progress");
  reported.resolve();
  await session.result(call);
  report();
  await session.request("ping");
  expect(session.requests("notifications/progress")).toHaveLength(1);
});

it("tells a caller that repeats its call of progress once, however often it does", async () => {
  let report = (): void => undefined;
  const { server } = await startServer((tasks) =>
    tasks.tool("works", {}, async (_args, task) => {
      report = () => task.progress(1);
      return new Promise((_, reject) =>
        task.signal.addEventListener("abort", () => reject(task.signal.reason as Error)),
      );
    }),
  );
  const session = await InMemorySession.open(server);
  const key = { "holdfast/idempotencyKey": "0123456789012345678901" };
  const ids = new Set<string>();
  for (const progressToken of ["a", "b", "c"]) {
    ids.add(await session.start("works", {}, { _meta: { ...key, progressToken } }));
  }
  report();
  const { params } = await session.asked("notifications/progress");
  expect(params).toMatchObject({ progressToken: "c", progress: 1 });
  const [taskId] = ids;
  await session.request("tasks/cancel", { taskId });
  expect(ids.size).toBe(1);
  expect(session.requests("notifications/progress")).toHaveLength(1);
});

it("holds nothing for a connection, a request or a task that is over", async () => {
  const streams = new FakeStreams();
  const { server } = await startServer(tools);
  const session = await InMemorySession.open(server, { capabilities: formClient, streams });
  const taskId = await session.start("confirm");
  const waiting = session.begin("tasks/result", { taskId });
  await session.asked("elicitation/create");
  session.notify("notifications/cancelled", { requestId: waiting });
  await session.request("tasks/cancel", { taskId });
  await session.start("sleeps");
  await session.close();
  expect(streams.listeners).toBe(0);
});

it("keeps little for a client that does not read", async () => {
  const [begins, busy] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { server } = await startServer((tasks) => {
    tasks.tool("chatty", {}, async (_args, task) => {
      await begins.promise;
      for (let n = 0; n < 300; n++) await task.status(`at ${n}`);
      busy.resolve();
      await task.sleep("long", 3_600_000);
      return text("slept");
    });
  });
  const session = await InMemorySession.open(server);
  const taskId = await session.start("chatty");
  const { promise, resolve } = Promise.withResolvers<void>();
  session.reads = promise;
  begins.resolve();
  await busy.promise;
  await new Promise((done) => setImmediate(done));
  resolve();
  session.reads = undefined;
  await session.request("tasks/cancel", { taskId });
  await session.message(({ params }) => (params as { status?: string } | undefined)?.status === "cancelled");
  expect(session.requests("notifications/tasks/status").length).toBeLessThan(110);
});

it("gives up early askings of a client that gives up its streams, and takes the answer to a late one", async () => {
  const { server } = await startServer(tools);
  const session = await InMemorySession.open(server, {
    capabilities: formClient,
    streams: new FakeStreams(),
  });
  const taskId = await session.start("confirm");
  for (let n = 0; n < 30; n++) {
    const waiting = session.begin("tasks/result", { taskId });
    await session.asked("elicitation/create", n);
    session.notify("notifications/cancelled", { requestId: waiting });
  }
  const waiting = session.begin("tasks/result", { taskId });
  await session.asked("elicitation/create", 30);
  const given = new Set(
    session
      .requests("notifications/cancelled")
      .map(({ params }) => (params as { requestId: string }).requestId),
  );
  const asked = session.requests("elicitation/create");
  expect(given.size).toBeGreaterThan(20);
  expect(asked.slice(0, given.size).every(({ id }) => given.has(id as string))).toBe(true);
  session.reply(asked[29] ?? {}, { action: "accept", content: { ok: "late" } });
  expect(await session.result(waiting)).toMatchObject(text("late"));
});

it("leaves no listener behind when its tasks are over", async () => {
  const { server, errors } = await startServer(tools);
  const streams = new FakeStreams();
  const session = await InMemorySession.open(server, { capabilities: formClient, streams });
  const { listeners } = streams;
  streams.setStandalone(true);
  const ids: string[] = [];
  for (let n = 0; n < 100; n++) ids.push(await session.start("confirm"));
  const waits = ids.map((taskId) => session.begin("tasks/result", { taskId }));
  const answers = new Map<unknown, unknown>();
  for (let [at, asked] = [0, 0]; answers.size < waits.length; at++) {
    await session.message(() => session.seen.length > at);
    const message = session.seen[at] ?? {};
    if (waits.includes(message["id"] as number)) answers.set(message["id"], message["result"]);
    if (message["method"] !== "elicitation/create") continue;
    if (asked % 3 === 0) streams.break(waits[asked % waits.length] ?? 0);
    session.reply(message, { action: "accept", content: { ok: "yes" } });
    if (asked % 10 === 0) for (const open of [false, true]) streams.setStandalone(open);
    asked++;
  }
  for (const result of answers.values()) expect(result).toMatchObject(text("yes"));
  expect(streams.listeners).toBe(listeners);
  expect(errors).toEqual([]);
});

it("lists tools again after a list that was cancelled", async () => {
  const { server } = await startServer(tools);
  const session = await InMemorySession.open(server);
  for (let n = 0; n < 3; n++)
    session.notify("notifications/cancelled", { requestId: session.begin("tools/list") });
  const { tools: listed } = (await session.request("tools/list")) as { tools: object[] };
  expect(listed.every((tool) => "execution" in tool)).toBe(true);
});
