import type { Tasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { expect, it, vi } from "vitest";
import { formClient, text } from "../../kit/messages.ts";
import { InMemorySession } from "../../kit/in-memory-session.ts";
import { serve, startServer } from "../../kit/server.ts";
import { type EventStream, SessionClient } from "../../kit/session-client.ts";
import { poller } from "./poller.ts";

function tools(tasks: Tasks): void {
  tasks.tool("sleeps", {}, async (_args, task) => {
    await task.sleep("long", 3_600_000);
    return text("slept");
  });
  tasks.tool("asks", {}, async (_args, task) => {
    await task.elicit("what", { message: "What?", requestedSchema: { type: "object", properties: {} } });
    return text("asked");
  });
}

it("never answers a wait with its own stop, which would read as the end of the task", async () => {
  const { server, errors } = await startServer(tools, { stopDeadlineMs: 60_000 });
  const session = await InMemorySession.open(server, { capabilities: formClient });
  const waits: unknown[] = [];
  for (const name of ["sleeps", "asks"]) {
    const taskId = await session.start(name);
    waits.push(session.begin("tasks/result", { taskId }));
  }
  await session.asked("elicitation/create");
  await server.stop();
  const { taskId } = (await session.asked("notifications/tasks/status"))["params"] as { taskId: string };
  const late = session.begin("tasks/result", { taskId });
  await session.error("tasks/get", { taskId });
  expect(session.seen.filter(({ id }) => id === late || waits.includes(id))).toEqual([]);
  expect(errors.filter((error) => (error as { code?: string }).code === "stopping")).toEqual([]);
});

it("does not wait at its close for those who wait for tasks", async () => {
  const { http, errors } = await serve({
    tools,
    http: { anonymous: "shared" },
    options: { stopDeadlineMs: 60_000 },
  });
  const peer = await SessionClient.open(http.url);
  const stream = await peer.listen();
  const streams: EventStream[] = [];
  for (const name of ["sleeps", "sleeps"]) {
    const { result } = await peer.request("tools/call", { name, arguments: {}, task: {} });
    const { taskId } = (result as { task: { taskId: string } }).task;
    streams.push(await peer.begin("tasks/result", { taskId }));
    await streams.at(-1)?.any(); // it is open
  }
  const before = performance.now();
  await http.close();
  expect(performance.now() - before).toBeLessThan(10_000);
  for (const cut of streams) expect(await cut.rest()).toEqual([]);
  expect((await stream.rest()).every(({ method }) => method === "notifications/tasks/status")).toBe(true);
  expect(errors).toEqual([]);
});

it("does not wait for them without sessions either", async () => {
  const { http } = await serve({
    tools,
    http: { anonymous: "shared", sessions: false },
    options: { stopDeadlineMs: 60_000 },
  });
  const peer = new SessionClient(http.url);
  const { result } = await peer.request("tools/call", { name: "sleeps", arguments: {}, task: {} });
  const { taskId } = (result as { task: { taskId: string } }).task;
  const waiting = await peer.begin("tasks/result", { taskId });
  const before = performance.now();
  await http.close();
  expect(performance.now() - before).toBeLessThan(10_000);
  expect(await waiting.rest()).toEqual([]);
});

it("does not wait for them on stdio", async () => {
  const client = await poller("stdio", memoryStore(), tools, { stopDeadlineMs: 60_000 });
  const { result } = await client.request("tools/call", { name: "sleeps", arguments: {}, task: {} });
  const { taskId } = (result as { task: { taskId: string } }).task;
  let answered = false;
  void client.request("tasks/result", { taskId }).then(() => (answered = true));
  await client.request("tasks/get", { taskId });
  const before = performance.now();
  await client.close();
  expect(performance.now() - before).toBeLessThan(10_000);
  expect(answered).toBe(false);
});

it("waits at its close for a call that still runs beside them", async () => {
  const open = Promise.withResolvers<void>();
  const { http } = await serve({
    tools: (tasks) => {
      tools(tasks);
      tasks.tool("gated", {}, async () => (await open.promise, text("done")));
    },
    http: { anonymous: "shared" },
    options: { stopDeadlineMs: 60_000 },
  });
  const peer = await SessionClient.open(http.url);
  const { result } = await peer.request("tools/call", { name: "sleeps", arguments: {}, task: {} });
  const { taskId } = (result as { task: { taskId: string } }).task;
  const waiting = await peer.begin("tasks/result", { taskId });
  const call = peer.call("gated");
  await peer.request("ping");
  const closed = vi.fn();
  const closing = http.close().then(closed);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(closed).not.toHaveBeenCalled();
  open.resolve();
  expect(await call).toMatchObject({ result: text("done") });
  await closing;
  expect(await waiting.rest()).toEqual([]);
});
