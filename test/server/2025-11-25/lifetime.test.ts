import { setTimeout as pause } from "node:timers/promises";
import type { Tasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { expect, it } from "vitest";
import { isOver } from "../../../src/task/expiry.ts";
import { text } from "../../kit/messages.ts";
import { InMemorySession } from "../../kit/in-memory-session.ts";
import { startServer } from "../../kit/server.ts";

function tools(tasks: Tasks): void {
  tasks.tool("add", {}, () => text("3"));
  tasks.tool("endless", {}, async (_args, task) => {
    await new Promise((_, reject) =>
      task.signal.addEventListener("abort", () => reject(task.signal.reason as Error)),
    );
    return text("never");
  });
}

const short = { minTtlMs: 1, expiredVisibleMs: 3_000, requestedTtl: "task" } as const;

async function untilGone(session: InMemorySession, taskId: string): Promise<object> {
  for (;;) {
    const answer = await session.answerTo(session.begin("tasks/get", { taskId }));
    if (answer["error"] !== undefined) return answer["error"] as object;
    await pause(10);
  }
}

it.each([
  [0, 2_000],
  [5_000, 5_000],
  [1e15, 60_000],
])(
  "gives a ttl between its shortest and its longest: %d is %d [C-103 C-125 C-036 A-15]",
  async (asked, given) => {
    const { server } = await startServer(tools, { minTtlMs: 2_000, maxTtlMs: 60_000 });
    const session = await InMemorySession.open(server);
    const { task } = await session.result(session.call("endless", {}, { task: { ttl: asked } }));
    expect(task).toMatchObject({ ttl: given });
    const { taskId } = task as { taskId: string };
    expect(await session.request("tasks/get", { taskId })).toMatchObject({ ttl: given });
  },
);

it("deletes a task when its ttl is over, whatever it is doing [C-104 C-115 C-126 A-11 A-30]", async () => {
  const store = memoryStore();
  const { server } = await startServer(tools, { ...short, store });
  const session = await InMemorySession.open(server);
  const ended = await session.start("add", {}, { task: { ttl: 300 } });
  const working = await session.start("endless", {}, { task: { ttl: 5_000 } });
  const waiting = session.begin("tasks/result", { taskId: working });
  // Who waits hears why there is no result; for a moment the task says so too.
  expect((await session.answerTo(waiting))["error"]).toMatchObject({
    code: -32603,
    message: expect.stringContaining("expired") as unknown,
  });
  for (const taskId of [ended, working]) {
    expect(await untilGone(session, taskId)).toMatchObject({ code: -32602 });
    while ((await store.get(taskId)) !== undefined) await pause(10);
  }
  expect(await session.request("tasks/list")).toEqual({ tasks: [] });
});

it("counts the ttl from the creation, however late the task ends", async () => {
  const store = memoryStore();
  const { server } = await startServer(tools, { store, requestedTtl: "task" });
  const session = await InMemorySession.open(server);
  const taskId = await session.start("endless", {}, { task: { ttl: 60_000 } });
  await pause(20);
  await session.request("tasks/cancel", { taskId });
  const record = await store.get(taskId);
  if (record === undefined) throw new Error("It is gone.");
  expect(record.finishedAt).toBeGreaterThan(record.createdAt);
  expect(isOver(record, record.createdAt + 59_999)).toBe(false);
  expect(isOver(record, record.createdAt + 60_000)).toBe(true);
});

it("keeps a cancelled task no longer than any other [C-082]", async () => {
  const { server } = await startServer(tools, short);
  const session = await InMemorySession.open(server);
  const taskId = await session.start("endless", {}, { task: { ttl: 3_000 } });
  await session.request("tasks/cancel", { taskId });
  expect(await untilGone(session, taskId)).toMatchObject({ code: -32602 });
});

it("stops the work of a plain call that is cancelled, and answers nothing [C-088]", async () => {
  const started = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<void>();
  const { server } = await startServer((tasks) =>
    tasks.tool("works", {}, async (_args, task) => {
      started.resolve();
      await new Promise<void>((resolve) => task.signal.addEventListener("abort", () => resolve()));
      stopped.resolve();
      return text("too late");
    }),
  );
  const session = await InMemorySession.open(server);
  const call = session.call("works");
  await started.promise;
  session.notify("notifications/cancelled", { requestId: call });
  await stopped.promise;
  await session.request("ping");
  expect(session.seen.filter(({ id }) => id === call)).toEqual([]);
});

it.each([[99], ["none"], [1], [{}], [undefined]])(
  "passes over a cancel of %j, which is nothing that runs [C-089]",
  async (requestId) => {
    const { server, errors } = await startServer(tools);
    const session = await InMemorySession.open(server);
    const taskId = await session.start("endless");
    const seen = session.seen.length;
    session.notify("notifications/cancelled", { requestId });
    expect(await session.request("tasks/get", { taskId })).toMatchObject({ status: "working" });
    expect(session.seen).toHaveLength(seen + 1);
    expect(errors).toEqual([]);
  },
);
