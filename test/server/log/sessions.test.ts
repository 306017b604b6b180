import type { McpServer } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import { type Message, related, text } from "../../kit/messages.ts";
import { InMemorySession } from "../../kit/in-memory-session.ts";
import { startServer } from "../../kit/server.ts";
import { FakeStreams } from "../2025-11-25/streams.ts";
import { callAs, created, related as sepRelated } from "../sep-1686/sep.ts";
import { teller } from "./teller.ts";

const logging = (mcp: McpServer): void => mcp.server.registerCapabilities({ logging: {} });
const withTasks = { tasks: {} }; // else a direct call would be a task, though its client knows of none

const messagesOf = (session: InMemorySession): Message[] =>
  session.requests("notifications/message").map(({ params }) => params as Message);
const placeOf = (session: InMemorySession, is: (message: Message) => boolean): number =>
  session.seen.findIndex(is);

it("sends each line of a task once, in order, before the state and the result that follow it [A-16 C-097]", async () => {
  const { tools, say } = teller();
  const { server } = await startServer(tools, {}, logging);
  const session = await InMemorySession.open(server);
  await session.request("logging/setLevel", { level: "info" });
  const taskId = await session.start("tell");
  const waiting = session.begin("tasks/result", { taskId });
  say("debug", "a detail");
  say("info", "page 1");
  say("warning", "page 2", { slow: true });
  await session.asked("notifications/message", 1);
  say("critical", "last", [1]);
  say("end");
  await session.result(waiting);
  expect(messagesOf(session)).toEqual([
    { level: "info", logger: "tell", data: "page 1", _meta: related(taskId) },
    {
      level: "warning",
      logger: "tell",
      data: { text: "page 2", data: { slow: true } },
      _meta: related(taskId),
    },
    { level: "critical", logger: "tell", data: { text: "last", data: [1] }, _meta: related(taskId) },
  ]);
  const last = session.seen.findLastIndex(({ method }) => method === "notifications/message");
  expect(last).toBeLessThan(
    placeOf(session, ({ params }) => (params as Message | undefined)?.["status"] === "completed"),
  );
  expect(last).toBeLessThan(placeOf(session, ({ id, method }) => id === waiting && method === undefined));
});

it("sends none without a level, and after one only what comes then", async () => {
  const { tools, say, said } = teller();
  const { server } = await startServer(tools, {}, logging);
  const session = await InMemorySession.open(server);
  const taskId = await session.start("tell");
  say("error", "unheard");
  await said(1);
  // The watch has seen it: nobody wanted it.
  await session.request("tasks/get", { taskId });
  await session.request("logging/setLevel", { level: "error" });
  say("warning", "too little");
  say("error", "heard");
  say("end");
  await session.request("tasks/result", { taskId });
  expect(messagesOf(session)).toMatchObject([{ data: "heard" }]);
});

it("takes no level that the author's server refuses", async () => {
  const { tools, say } = teller();
  const { server } = await startServer(tools); // which declares no logging
  const session = await InMemorySession.open(server);
  expect(await session.error("logging/setLevel", { level: "info" })).toMatchObject({ code: -32601 });
  const taskId = await session.start("tell");
  say("error", "unheard");
  say("end");
  await session.request("tasks/result", { taskId });
  expect(messagesOf(session)).toEqual([]);
  const { server: logs } = await startServer(tools, {}, logging);
  const other = await InMemorySession.open(logs);
  await other.request("logging/setLevel", { level: "error" });
  expect(await other.error("logging/setLevel", { level: "loud" })).toBeDefined();
  const next = await other.start("tell");
  say("info", "too little");
  say("error", "heard");
  say("end");
  await other.request("tasks/result", { taskId: next });
  expect(messagesOf(other)).toMatchObject([{ data: "heard" }]);
});

it("sends lines when a stream opens, as far as they are kept", async () => {
  const { tools, say, said } = teller();
  const { server } = await startServer(tools, { maxLogLines: 2 }, logging);
  const streams = new FakeStreams();
  const session = await InMemorySession.open(server, { streams });
  await session.request("logging/setLevel", { level: "debug" });
  await session.start("tell");
  for (const each of ["one", "two", "three"]) say("info", each);
  await said(3);
  expect(messagesOf(session)).toEqual([]);
  streams.setStandalone(true);
  await session.asked("notifications/message", 1);
  say("info", "four");
  await session.asked("notifications/message", 2);
  streams.setStandalone(false);
  streams.setStandalone(true);
  say("info", "five");
  await session.asked("notifications/message", 3);
  expect(messagesOf(session).map(({ data }) => data)).toEqual(["two", "three", "four", "five"]);
});

it("sends a burst whole", async () => {
  const { server } = await startServer(
    (tasks) =>
      tasks.tool("burst", {}, async (_, task) => {
        for (let n = 1; n <= 900; n++) void task.log("info", `line ${n}`);
        await task.log("info", "the last");
        return text("done");
      }),
    {},
    logging,
  );
  const session = await InMemorySession.open(server);
  await session.request("logging/setLevel", { level: "info" });
  const taskId = await session.start("burst");
  await session.request("tasks/result", { taskId });
  await session.message(({ method }) => method === "notifications/tasks/status");
  expect(messagesOf(session).map(({ data }) => data)).toEqual([
    ...Array.from({ length: 900 }, (_, index) => `line ${index + 1}`),
    "the last",
  ]);
});

it("drops lines for a client that does not read, and nothing else", async () => {
  const { server } = await startServer(
    (tasks) =>
      tasks.tool("flood", {}, async (_, task) => {
        for (let n = 1; n <= 3_000; n++) await task.log("info", String(n));
        return text("done");
      }),
    { maxLogLines: 5_000 },
    logging,
  );
  const [stuck, other] = [await InMemorySession.open(server), await InMemorySession.open(server)];
  await stuck.request("logging/setLevel", { level: "info" });
  const taskId = await stuck.start("flood");
  const { promise, resolve } = Promise.withResolvers<void>();
  stuck.reads = promise;
  await other.until(taskId, "completed");
  resolve();
  await stuck.message(({ params }) => (params as Message | undefined)?.["status"] === "completed");
  const heard = messagesOf(stuck).map(({ data }) => Number(data));
  expect(heard.length).toBeLessThan(3_000);
  expect(heard).toEqual([...new Set(heard)].toSorted((a, b) => a - b));
});

it("sends each of two connections what it asked for", async () => {
  const { tools, say } = teller();
  const { server } = await startServer(tools, {}, logging);
  const [maker, waiter] = [await InMemorySession.open(server), await InMemorySession.open(server)];
  await maker.request("logging/setLevel", { level: "error" });
  await waiter.request("logging/setLevel", { level: "debug" });
  const taskId = await maker.start("tell");
  say("error", "before the wait");
  await maker.asked("notifications/message");
  const waiting = waiter.begin("tasks/result", { taskId });
  await waiter.request("ping");
  say("info", "one");
  say("error", "two");
  say("end");
  await waiter.result(waiting);
  await maker.message(({ params }) => (params as Message | undefined)?.["status"] === "completed");
  expect(messagesOf(maker).map(({ data }) => data)).toEqual(["before the wait", "two"]);
  expect(messagesOf(waiter).map(({ data }) => data)).toEqual(["one", "two"]);
});

it("sends those of a task of SEP-1686 before its response [S-060]", async () => {
  const { tools, say } = teller();
  const { server } = await startServer(tools, {}, logging);
  const session = await InMemorySession.open(server);
  await session.request("logging/setLevel", { level: "notice" });
  const request = callAs(session, { taskId: "t1" }, "tell");
  await created(session, "t1");
  say("info", "too little");
  say("notice", "heard");
  say("end");
  await session.result(request);
  expect(messagesOf(session)).toEqual([
    { level: "notice", logger: "tell", data: "heard", _meta: sepRelated("t1") },
  ]);
  expect(placeOf(session, ({ method }) => method === "notifications/message")).toBeLessThan(
    placeOf(session, ({ id, method }) => id === request && method === undefined),
  );
});

it.each([
  ["a direct call", withTasks, "2025-11-25"],
  ["a call that waits", {}, "2025-11-25"],
  ["a call of a revision without tasks", {}, "2025-06-18"],
])("sends those of %s while it waits, and only then", async (_, capabilities, version) => {
  const { tools, say } = teller();
  const { server } = await startServer(tools, {}, logging);
  const session = await InMemorySession.open(server, { capabilities, version });
  await session.request("logging/setLevel", { level: "info" });
  const call = session.call("tell");
  say("debug", "a detail");
  say("info", "one");
  await session.asked("notifications/message");
  say("error", "two", { pages: 2 });
  say("end");
  await session.result(call);
  expect(messagesOf(session)).toEqual([
    { level: "info", logger: "tell", data: "one" },
    { level: "error", logger: "tell", data: { text: "two", data: { pages: 2 } } },
  ]);
  expect(
    placeOf(session, ({ params }) => (params as Message | undefined)?.["level"] === "error"),
  ).toBeLessThan(placeOf(session, ({ id, method }) => id === call && method === undefined));
  const silent = await InMemorySession.open(server, { capabilities, version });
  const other = silent.call("tell");
  say("error", "unheard");
  say("end");
  await silent.result(other);
  expect(messagesOf(silent)).toEqual([]);
});

it("sends a line that a step repeats once, also without a task", async () => {
  const { server } = await startServer(
    (tasks) =>
      tasks.tool("retry", { task: "forbidden" }, async (_, task) => {
        let tries = 0;
        await task.step("try", { retries: 2, backoff: { firstMs: 1 } }, () => {
          void task.log("info", "trying");
          if (++tries < 3) throw new Error("not yet");
        });
        await task.log("info", "tried");
        return text("done");
      }),
    {},
    logging,
  );
  const session = await InMemorySession.open(server);
  await session.request("logging/setLevel", { level: "debug" });
  await session.result(session.call("retry"));
  expect(messagesOf(session).map(({ data }) => data)).toEqual(["trying", "tried"]);
});
