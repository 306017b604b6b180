import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Tasks } from "holdfast";
import { sqliteStore } from "holdfast/sqlite";
import type { TaskStore } from "holdfast/store";
import { expect, it, onTestFinished } from "vitest";
import { text } from "../../kit/messages.ts";
import { InMemorySession } from "../../kit/in-memory-session.ts";
import { startServer } from "../../kit/server.ts";
import { about, callAs, created, related, start, until } from "./sep.ts";

const set = { rates: { pollsPerInterval: null, maxLoopDelayMs: null } };

function tools(aborted: () => void = () => undefined): (tasks: Tasks) => void {
  return (tasks) => {
    tasks.tool("add", {}, () => text("3"));
    tasks.tool("wait", { onCrash: "resume" }, async (_, { signal }) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      aborted();
      return text("too late");
    });
  };
}

it("ends a task at once, tells its handler and sends no answer [S-063 S-064 S-065 S-067]", async () => {
  const told = Promise.withResolvers<void>();
  const { server, errors } = await startServer(tools(told.resolve), set);
  const session = await InMemorySession.open(server);
  const request = await start(session, "mine", "wait");
  await until(session, "mine", "working");
  session.notify("notifications/cancelled", { requestId: request });
  expect(await until(session, "mine")).toMatchObject({ status: "cancelled" });
  await told.promise;
  expect(await session.request("tasks/get", about("mine"))).toMatchObject({ status: "cancelled" });
  expect(await session.error("tasks/result", about("mine"))).toEqual({
    code: -32602,
    message: 'No result: the task is in status "cancelled"',
  });
  expect(session.seen.filter(({ id }) => id === request)).toEqual([]);
  expect(errors).toEqual([]);
});

it("shows in what is asked next, by whichever way it came [S-063]", async () => {
  const { server } = await startServer(tools(), set);
  const session = await InMemorySession.open(server);
  for (const [taskId, _meta] of [["mine", {}] as const, ["other", related("other")] as const]) {
    const requestId = await start(session, taskId, "wait");
    await until(session, taskId, "working");
    session.notify("notifications/cancelled", { requestId, _meta });
    expect(await session.request("tasks/get", about(taskId))).toMatchObject({ status: "cancelled" });
  }
  const first = await start(session, "first", "wait");
  const second = await InMemorySession.open(server);
  await until(second, "first", "working");
  second.notify("notifications/cancelled", { requestId: first, _meta: related("first") });
  expect(await second.request("tasks/get", about("first"))).toMatchObject({ status: "cancelled" });
});

it("says nothing to a task that has ended, nor to another's request [S-066]", async () => {
  const { server } = await startServer(tools(), set);
  const session = await InMemorySession.open(server);
  const request = callAs(session, { taskId: "mine" }, "add");
  await session.result(request);
  const waiting = await start(session, "other", "wait");
  session.notify("notifications/cancelled", { requestId: request, _meta: related("mine") });
  // The id of another request than the one that became the task.
  session.notify("notifications/cancelled", { requestId: request, _meta: related("other") });
  session.notify("notifications/cancelled", { requestId: waiting, _meta: related("mine") });
  expect(await session.request("tasks/get", about("mine"))).toMatchObject({ status: "completed" });
});

it("reaches a task whose request came on a session that is gone [S-061 S-063]", async () => {
  const { server } = await startServer(tools(), set);
  const first = await InMemorySession.open(server);
  const requestId = await start(first, "mine", "wait");
  await first.close();
  const second = await InMemorySession.open(server);
  expect(await second.request("tasks/get", about("mine"))).toMatchObject({ taskId: "mine" });
  second.notify("notifications/cancelled", { requestId: 999, _meta: related("mine") });
  second.notify("notifications/cancelled", { requestId, _meta: related("nowhere") });
  expect(["submitted", "working"]).toContain((await second.request("tasks/get", about("mine")))["status"]);
  const foreign = await InMemorySession.open(server, { principal: "bob" });
  await foreign.request("ping"); // so that no request of its own has the id any more
  foreign.notify("notifications/cancelled", { requestId, _meta: related("mine") });
  await foreign.request("ping");
  expect(["submitted", "working"]).toContain((await second.request("tasks/get", about("mine")))["status"]);
  second.notify("notifications/cancelled", { requestId, _meta: related("mine") });
  expect(await until(second, "mine")).toMatchObject({ status: "cancelled" });
});

it("reaches it after a restart of the server too", async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-sep-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const store = (): TaskStore => sqliteStore(join(folder, "tasks.db"));
  const before = await startServer(tools(), { ...set, store: store() });
  const first = await InMemorySession.open(before.server);
  const requestId = await start(first, "mine", "wait");
  await before.server.stop();
  const { server } = await startServer(tools(), { ...set, store: store() });
  const second = await InMemorySession.open(server);
  await until(second, "mine", "working");
  second.notify("notifications/cancelled", { requestId, _meta: related("mine") });
  expect(await until(second, "mine")).toMatchObject({ status: "cancelled" });
  await server.stop();
});

it("of a request that is cancelled before its task is there ends the task all the same", async () => {
  const { server } = await startServer(tools(), set);
  const session = await InMemorySession.open(server);
  const request = callAs(session, { taskId: "mine" }, "wait");
  session.notify("notifications/cancelled", { requestId: request, _meta: related("mine") });
  await Promise.race([created(session, "mine"), session.request("ping")]);
  const { result, error } = await session.answerTo(session.begin("tasks/get", about("mine")));
  // It never was, or it is over soon.
  if (result !== undefined) expect(await until(session, "mine")).toMatchObject({ status: "cancelled" });
  else expect(error).toMatchObject({ code: -32602 });
});
