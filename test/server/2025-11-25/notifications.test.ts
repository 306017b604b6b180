import type { Tasks } from "holdfast";
import { expect, it } from "vitest";
import { type Message, related, text } from "../../kit/messages.ts";
import { InMemorySession } from "../../kit/in-memory-session.ts";
import { startServer } from "../../kit/server.ts";
import { FakeStreams } from "./streams.ts";

/** A tool that goes on when it is told to. */
function reporter(): { tools: (tasks: Tasks) => void; next: () => void } {
  let next = Promise.withResolvers<void>();
  return {
    tools: (tasks) =>
      tasks.tool("report", {}, async (_args, task) => {
        for (const done of [1, 2, 3]) {
          await next.promise;
          next = Promise.withResolvers();
          task.progress(done, 3, `page ${done}`);
          await task.status(`at ${done}`);
        }
        await next.promise;
        return text("done");
      }),
    next: () => next.resolve(),
  };
}

const progressOf = (session: InMemorySession): Message[] =>
  session.requests("notifications/progress").map(({ params }) => params as Message);
const statusesOf = (session: InMemorySession): Message[] =>
  session.requests("notifications/tasks/status").map(({ params }) => params as Message);

it("tells of each change with the whole task, before it answers who waits [C-065 C-066 C-069 C-037 C-038 A-16]", async () => {
  const { tools, next } = reporter();
  const { server } = await startServer(tools);
  const session = await InMemorySession.open(server);
  const taskId = await session.start("report");
  const waiting = session.begin("tasks/result", { taskId });
  for (const done of [1, 2, 3]) {
    next();
    await session.message(
      ({ params }) => (params as Message | undefined)?.["statusMessage"] === `at ${done}`,
    );
  }
  next();
  await session.result(waiting);
  const statuses = statusesOf(session);
  expect(statuses.at(-1)).toEqual(await session.request("tasks/get", { taskId }));
  for (const { _meta } of statuses) expect(_meta).toEqual({ "holdfast/tool": "report" });
  const last = session.seen.findIndex(({ params }) => params === statuses.at(-1));
  expect(last).toBeLessThan(
    session.seen.findIndex(({ id, result }) => id === waiting && result !== undefined),
  );
});

it("reports progress under the call's own token, upwards, until the task ends [C-105 C-106 C-107 C-098 B-130 B-131 B-132 B-139]", async () => {
  const { tools, next } = reporter();
  const { server } = await startServer(tools);
  const session = await InMemorySession.open(server);
  const taskId = await session.start("report", {}, { _meta: { progressToken: "p-7" } });
  for (const done of [1, 2, 3]) {
    next();
    await session.message(({ params }) => (params as Message | undefined)?.["progress"] === done);
  }
  next();
  await session.request("tasks/result", { taskId });
  expect(progressOf(session)).toEqual(
    [1, 2, 3].map((progress) => ({
      progressToken: "p-7",
      progress,
      total: 3,
      message: `page ${progress}`,
      _meta: related(taskId),
    })),
  );
  const ended = session.seen.findIndex(
    ({ params }) => (params as Message | undefined)?.["status"] === "completed",
  );
  expect(session.seen.slice(ended).some(({ method }) => method === "notifications/progress")).toBe(false);
});

it("reports none of a handler that goes on when its task is cancelled [C-107 B-135 B-139]", async () => {
  const going = Promise.withResolvers<void>();
  const reported = Promise.withResolvers<void>();
  const { server } = await startServer((tasks) =>
    tasks.tool("stubborn", {}, async (_args, task) => {
      task.progress(1, 3);
      await going.promise;
      task.progress(2, 3);
      reported.resolve();
      return text("done");
    }),
  );
  const session = await InMemorySession.open(server);
  const taskId = await session.start("stubborn", {}, { _meta: { progressToken: "p" } });
  await session.asked("notifications/progress");
  await session.request("tasks/cancel", { taskId });
  going.resolve();
  await reported.promise;
  await session.request("tasks/get", { taskId });
  expect(progressOf(session)).toMatchObject([{ progressToken: "p", progress: 1 }]);
});

it("reports none without a token [B-135]", async () => {
  const { tools, next } = reporter();
  const { server } = await startServer(tools);
  const session = await InMemorySession.open(server);
  const taskId = await session.start("report");
  for (const done of [1, 2, 3]) {
    next();
    await session.message(
      ({ params }) => (params as Message | undefined)?.["statusMessage"] === `at ${done}`,
    );
  }
  next();
  await session.request("tasks/result", { taskId });
  expect(progressOf(session)).toEqual([]);
});

it("says nothing of a task before its id is out, and nothing where no stream is open", async () => {
  const { server } = await startServer((tasks) => tasks.tool("add", {}, () => text("3")));
  const pipe = await InMemorySession.open(server);
  const taskId = await pipe.start("add");
  await pipe.message(({ method }) => method === "notifications/tasks/status");
  const created = pipe.seen.findIndex(
    ({ result }) => (result as Message | undefined)?.["task"] !== undefined,
  );
  expect(created).toBeLessThan(pipe.seen.findIndex(({ method }) => method === "notifications/tasks/status"));
  expect(statusesOf(pipe)[0]).toMatchObject({ taskId, status: "completed" });
  const silent = await InMemorySession.open(server, { streams: new FakeStreams() });
  const other = await silent.start("add");
  await silent.until(other, "completed");
  expect(await silent.request("tasks/result", { taskId: other })).toMatchObject(text("3"));
  expect(statusesOf(silent)).toEqual([]);
});

it("reports the progress of a direct call on its own stream", async () => {
  const { server } = await startServer((tasks) =>
    tasks.tool("count", {}, (_args, task) => {
      for (const done of [1, 2, 2, 1, 3]) task.progress(done, 3);
      return text("counted");
    }),
  );
  const session = await InMemorySession.open(server, { streams: new FakeStreams() });
  await session.request("ping", { task: {} }); // else the call would be a task, though its client asked for none
  const call = session.call("count", {}, { _meta: { progressToken: 5 } });
  expect(await session.result(call)).toEqual(text("counted"));
  expect(progressOf(session)).toEqual(
    [1, 2, 3].map((progress) => ({ progressToken: 5, progress, total: 3 })),
  );
});

it("tells a progress that nobody could be told, once its session opens a stream [C-105]", async () => {
  const { tools, next } = reporter();
  const { server } = await startServer(tools);
  const streams = new FakeStreams();
  const session = await InMemorySession.open(server, { streams });
  const taskId = await session.start("report", {}, { _meta: { progressToken: "p-9" } });
  next();
  while ((await session.request("tasks/get", { taskId }))["statusMessage"] !== "at 1") await pause();
  expect(progressOf(session)).toEqual([]);
  streams.setStandalone(true);
  await session.message(({ params }) => (params as Message | undefined)?.["progressToken"] === "p-9");
  expect(progressOf(session)).toMatchObject([{ progress: 1 }]);
});

const pause = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
