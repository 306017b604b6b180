import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Tasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { sqliteStore } from "holdfast/sqlite";
import { expect, it, onTestFinished } from "vitest";
import { Failing, storeFailed, watchedStore, type StoreCall } from "../../runtime/watched-store.ts";
import { formClient, text } from "../../kit/messages.ts";
import { InMemorySession } from "../../kit/in-memory-session.ts";
import { startServer } from "../../kit/server.ts";
import { FakeStreams } from "./streams.ts";

const requestedSchema = { type: "object" as const, properties: { ok: { type: "boolean" as const } } };
const accept = (ok: boolean): object => ({ action: "accept", content: { ok } });

function tools(tasks: Tasks): void {
  tasks.tool("confirm", {}, async (_args, task) => {
    const { action } = await task.elicit("sure", { message: "Sure?", requestedSchema });
    return text(action);
  });
  tasks.tool("fails", {}, () => ({ ...text("no paper"), isError: true }));
}

it("gives its client time to learn of a task before it is asked for it", async () => {
  const { server } = await startServer(tools);
  const session = await InMemorySession.open(server, { capabilities: formClient });
  const before = performance.now();
  const taskId = await session.start("confirm");
  // Who asks for the task knows it; who does not has a moment.
  const asked = session.asked("elicitation/create");
  const first = await Promise.race([asked, new Promise((resolve) => setTimeout(resolve, 50, "nothing yet"))]);
  expect(first).toBe("nothing yet");
  await asked;
  expect(performance.now() - before).toBeLessThan(1_000);
  const other = await session.start("confirm");
  await session.until(other, "input_required");
  const at = performance.now();
  await session.asked("elicitation/create", 1);
  expect(performance.now() - at).toBeLessThan(100);
  for (const id of [taskId, other]) await session.request("tasks/cancel", { taskId: id });
});

it("does not ask again what was answered at another server, of which it has not heard yet [A-14]", async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-races-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const store = sqliteStore(join(folder, "tasks.db"));
  const deaf = watchedStore(sqliteStore(join(folder, "tasks.db")));
  let hears = true;
  const subscribe = deaf.subscribe.bind(deaf);
  deaf.subscribe = (listener) => subscribe((changes, by) => hears && listener(changes, by));
  const there = (await startServer(tools, { store })).server;
  const here = (await startServer(tools, { store: deaf })).server;

  const session = await InMemorySession.open(here, { capabilities: formClient, streams: new FakeStreams() });
  const other = await InMemorySession.open(there, { capabilities: formClient });
  const taskId = await other.start("confirm");
  const question = await other.asked("elicitation/create");
  const streams = new FakeStreams();
  const broken = await InMemorySession.open(here, { capabilities: formClient, streams });
  const first = broken.begin("tasks/result", { taskId });
  await broken.asked("elicitation/create");
  const second = session.begin("tasks/result", { taskId });
  await session.request("ping");
  hears = false;
  other.reply(question, accept(true));
  await other.until(taskId, "completed");
  streams.break(first);
  expect(await session.request("tasks/get", { taskId })).toMatchObject({ status: "completed" });
  expect(session.requests("elicitation/create")).toEqual([]);
  expect(await session.result(second)).toMatchObject(text("accept"));
});

it("asks on another stream where one broke before it was looked at [A-14]", async () => {
  let opened = (): void => undefined;
  let held: Promise<void> | undefined;
  const before = (call: StoreCall): Promise<void> | undefined => (call === "snapshot" ? held : undefined);
  const { server } = await startServer(tools, { store: watchedStore(memoryStore(), (call) => before(call)) });
  const streams = new FakeStreams();
  const session = await InMemorySession.open(server, { capabilities: formClient, streams });
  const taskId = await session.start("confirm");
  await session.until(taskId, "input_required");
  held = new Promise((resolve) => (opened = resolve));
  const first = session.begin("tasks/result", { taskId });
  await new Promise((resolve) => setImmediate(resolve));
  streams.break(first);
  held = undefined;
  opened();
  const second = session.begin("tasks/result", { taskId });
  const asked = await session.asked("elicitation/create");
  expect(session.sentOn.get(asked["id"])).toBe(second);
  session.reply(asked, accept(true));
  expect(await session.result(second)).toMatchObject(text("accept"));
});

it("asks who polls, once nobody else can be reached [A-14 A-43]", async () => {
  const { server } = await startServer(tools);
  const gone = new FakeStreams();
  gone.standaloneOpen = true;
  const first = await InMemorySession.open(server, { capabilities: formClient, streams: gone });
  const taskId = await first.start("confirm");
  await first.asked("elicitation/create");
  const next = await InMemorySession.open(server, { capabilities: formClient });
  await next.request("tasks/get", { taskId });
  gone.setStandalone(false);
  expect(next.requests("elicitation/create")).toEqual([]);
  await next.request("tasks/get", { taskId });
  next.reply(await next.asked("elicitation/create"), accept(true));
  expect(await next.until(taskId, "completed")).toBeDefined();
});

it("keeps an answer that the store cannot take yet, and asks for it once", async () => {
  const failing = new Failing("answer_inputs");
  const { server, errors } = await startServer(tools, { store: watchedStore(memoryStore(), failing.before) });
  const session = await InMemorySession.open(server, { capabilities: formClient });
  const taskId = await session.start("confirm");
  session.reply(await session.asked("elicitation/create"), accept(true));
  expect(await session.request("tasks/result", { taskId })).toMatchObject(text("accept"));
  expect(failing.hits).toBe(1);
  expect(session.requests("elicitation/create")).toHaveLength(1);
  expect(errors).toEqual([expect.objectContaining({ code: "store_failed" })]);
});

it("does not let a store that fails for a moment end a wait, nor keep a question back", async () => {
  let failures = 0;
  let fails = false;
  const before = (call: StoreCall): void => {
    if (call !== "snapshot" || !fails) return;
    if (++failures === 2) fails = false;
    throw storeFailed();
  };
  const { server } = await startServer(tools, { store: watchedStore(memoryStore(), before) });
  const session = await InMemorySession.open(server, { capabilities: formClient });
  const taskId = await session.start("confirm");
  const waiting = session.begin("tasks/result", { taskId });
  const asked = await session.asked("elicitation/create");
  fails = true;
  session.reply(asked, accept(true));
  expect(await session.result(waiting)).toMatchObject(text("accept"));
  expect(failures).toBe(2);
});

it("says that it failed where the store fails a request [C-112]", async () => {
  const failing = new Failing("snapshot");
  let armed = false;
  const store = watchedStore(memoryStore(), (call, id) => (armed ? failing.before(call, id) : undefined));
  const { server, errors } = await startServer(tools, { store });
  const session = await InMemorySession.open(server);
  const taskId = await session.start("fails");
  await session.until(taskId, "failed");
  armed = true;
  const message = "The task store is not answering. Try again later.";
  expect(await session.error("tasks/get", { taskId })).toEqual({ code: -32603, message });
  expect(await session.request("tasks/get", { taskId })).toMatchObject({ status: "failed" });
  expect(errors).toHaveLength(1);
});
