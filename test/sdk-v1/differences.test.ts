import type { QueuedMessage, TaskStore } from "@modelcontextprotocol/sdk/experimental/tasks";
import { describe, expect, it, vi } from "vitest";
import { openTasks } from "../../src/sdk-v1/open-tasks.ts";
import type { SdkV1Options } from "../../src/sdk-v1/options.ts";
import { memoryStore } from "../../src/store/sqlite/memory-store.ts";
import { latestTime } from "../../src/task/time.ts";
import { FakeClock } from "../../src/testing/clocks.ts";
import { watchedStore } from "../runtime/watched-store.ts";
import { newStore, openDurable, storeNames } from "./stores.ts";

// Where we differ from the SDK's own store, on purpose.

const call = { method: "tools/call", params: { name: "x" } };
const done = { content: [] };
const jam = { content: [{ type: "text" as const, text: "Paper jam" }], isError: true };
const hour = 3_600_000;

async function setUp(options: Partial<SdkV1Options> = {}) {
  const clock = new FakeClock();
  const { taskStore, taskMessageQueue } = await openDurable("memory", options, clock);
  const create = (params: Parameters<TaskStore["createTask"]>[0] = {}, sessionId?: string) =>
    taskStore.createTask(params, 1, call, sessionId);
  return { clock, taskStore, taskMessageQueue, create };
}

describe("a ttl", () => {
  it.each<[asked: number | null | undefined, options: Partial<SdkV1Options>, given: number | null]>([
    [undefined, {}, 24 * hour],
    [null, {}, 30 * 24 * hour],
    [60 * 24 * hour, {}, 30 * 24 * hour],
    [Infinity, {}, 30 * 24 * hour],
    [NaN, {}, 30 * 24 * hour],
    [5000.5, {}, 5001],
    [0, {}, 1000],
    [-7, {}, 1000],
    [undefined, { ttlMs: 5000 }, 5000],
    [undefined, { ttlMs: 5000, maxTtlMs: 4000 }, 4000],
    [undefined, { ttlMs: null }, 30 * 24 * hour],
    [undefined, { ttlMs: null, maxTtlMs: null }, null],
    [null, { maxTtlMs: null }, null],
    [1e300, { maxTtlMs: null }, latestTime],
  ])("of %s with %o is %s", async (asked, options, given) => {
    const { create, taskStore } = await setUp(options);
    const { taskId, ttl } = await create(asked === undefined ? {} : { ttl: asked });
    expect(ttl).toBe(given);
    expect((await taskStore.getTask(taskId))?.ttl).toBe(given);
  });

  it("that runs out fails the task, and the failure is kept for the same ttl", async () => {
    const { create, clock, taskStore } = await setUp();
    const { taskId } = await create({ ttl: 5000 });
    await clock.advance(4999);
    expect((await taskStore.getTask(taskId))?.status).toBe("working");
    await clock.advance(1);
    expect(await taskStore.getTask(taskId)).toMatchObject({
      status: "failed",
      statusMessage: "The task expired before it ended.",
    });
    await expect(taskStore.storeTaskResult(taskId, "completed", done)).rejects.toMatchObject({
      code: "finished",
    });
    await clock.advance(60_000);
    expect(await taskStore.getTask(taskId)).toBeNull();
  });

  it.each([0, -1, 1.5, NaN])("cannot be %s by default", async (ttlMs) => {
    await expect(setUp({ ttlMs })).rejects.toMatchObject({ code: "configuration" });
    await expect(setUp({ maxTtlMs: ttlMs })).rejects.toMatchObject({ code: "configuration" });
  });
});

describe("a task without a result", () => {
  it("that failed says why in place of it", async () => {
    const { create, taskStore } = await setUp();
    const { taskId } = await create();
    await taskStore.updateTaskStatus(taskId, "failed", "The disk is full.");
    await expect(taskStore.getTaskResult(taskId)).rejects.toMatchObject({
      code: "no_result",
      message: "The disk is full.",
    });
  });
});

it.each<[end: string, ends: (store: TaskStore, id: string) => Promise<void>, text: string | undefined]>([
  ["a result", (store, id) => store.storeTaskResult(id, "completed", done), undefined],
  ["a failure", (store, id) => store.storeTaskResult(id, "failed", jam), "Paper jam"],
  ["completed", (store, id) => store.updateTaskStatus(id, "completed"), undefined],
  ["completed, with a text", (store, id) => store.updateTaskStatus(id, "completed", "Sent"), "Sent"],
  ["failed", (store, id) => store.updateTaskStatus(id, "failed"), "The task failed."],
  ["cancelled", (store, id) => store.updateTaskStatus(id, "cancelled"), "Cancelled by the caller."],
])("a text of progress ends with the task: %s [C-032 C-117]", async (_, ends, text) => {
  const { create, taskStore } = await setUp();
  const { taskId } = await create();
  await taskStore.updateTaskStatus(taskId, "working", "page 3 of 9");
  await ends(taskStore, taskId);
  expect((await taskStore.getTask(taskId))?.statusMessage).toBe(text);
});

it("a text of more than 4 KiB is cut, with a mark, while the task works and when it ends", async () => {
  const { create, taskStore } = await setUp();
  const { taskId } = await create();
  for (const status of ["working", "failed"] as const) {
    await taskStore.updateTaskStatus(taskId, status, "s".repeat(5_000));
    const { statusMessage } = (await taskStore.getTask(taskId)) ?? {};
    expect(statusMessage).toMatch(/^s{4066}… \[934 more bytes\]$/);
  }
});

it("a task without a stored result has no result", async () => {
  const { create, taskStore } = await setUp();
  const { taskId } = await create();
  await taskStore.storeTaskResult(taskId, "completed", undefined as never);
  expect((await taskStore.getTask(taskId))?.status).toBe("completed");
  await expect(taskStore.getTaskResult(taskId)).rejects.toMatchObject({ code: "no_result" });
});

it("the first retrieval of a result is recorded, before the store closes [S-095]", async () => {
  const calls: string[] = [];
  const store = watchedStore(memoryStore(), (name) => void calls.push(name));
  const tasks = await openTasks({ store });
  const { taskStore } = tasks;
  const { taskId } = await taskStore.createTask({}, 1, call);
  await taskStore.storeTaskResult(taskId, "completed", done);
  for (let reads = 0; reads < 2; reads++) {
    expect(await taskStore.getTaskResult(taskId)).toEqual(done);
    await vi.waitUntil(async () => (await store.get(taskId))?.retrieved?.via === "tasks/result", {
      timeout: 20_000,
    });
  }
  await tasks.close();
  expect(calls.filter((name) => name === "retrieve" || name === "close")).toEqual(["retrieve", "close"]);
});

describe("a list", () => {
  it("starts with the newest, and its cursor stays valid when its task is deleted", async () => {
    const { create, clock, taskStore } = await setUp();
    const ids: string[] = [];
    for (let each = 0; each < 12; each++) {
      ids.unshift((await create({ ttl: each === 2 ? 1000 : 50_000 })).taskId);
      await clock.advance(1);
    }
    const first = await taskStore.listTasks();
    expect(first.tasks.map(({ taskId }) => taskId)).toEqual(ids.slice(0, 10));
    expect(first.nextCursor).toBe(ids[9]);
    await taskStore.storeTaskResult(ids[9] ?? "", "completed", done);
    await clock.advance(1000);
    expect(await taskStore.getTask(ids[9] ?? "")).toBeNull();
    const second = await taskStore.listTasks(first.nextCursor);
    expect(second.tasks.map(({ taskId }) => taskId)).toEqual(ids.slice(10));
    expect(second.nextCursor).toBeUndefined();
  });
});

it("a list merges a session's own tasks with those without an owner, by age", async () => {
  const { create, clock, taskStore } = await setUp();
  const ids: string[] = [];
  for (let each = 0; each < 24; each++) {
    ids.unshift((await create({}, each % 2 === 0 ? "s1" : undefined)).taskId);
    await clock.advance(1);
  }
  const listed: string[] = [];
  for (let cursor: string | undefined; listed.length === 0 || cursor !== undefined;) {
    const page = await taskStore.listTasks(cursor, "s1");
    listed.push(...page.tasks.map(({ taskId }) => taskId));
    cursor = page.nextCursor;
  }
  expect(listed).toEqual(ids);
});

describe("an owner", () => {
  it("finds its tasks in all of its sessions", async () => {
    const owner = (session?: string) => session?.split("-")[0];
    const { create, taskStore } = await setUp({ owner });
    const { taskId } = await create({}, "ann-1");
    expect(await taskStore.getTask(taskId, "ann-2")).not.toBeNull();
    expect((await taskStore.listTasks(undefined, "ann-2")).tasks).toHaveLength(1);
    expect(await taskStore.getTask(taskId, "bob-1")).toBeNull();
    expect((await taskStore.listTasks(undefined, "bob-1")).tasks).toEqual([]);
  });
});

describe("a queue", () => {
  const message = { type: "notification", timestamp: 1, message: {} } as unknown as QueuedMessage;

  it("needs an existing task", async () => {
    const { taskMessageQueue } = await setUp();
    await expect(taskMessageQueue.enqueue("unknown", message)).rejects.toMatchObject({
      code: "unknown_task",
    });
  });

  it("needs a store that keeps queues", async () => {
    const { messages: _, ...withoutQueues } = watchedStore(memoryStore(), () => undefined);
    await expect(openTasks({ store: withoutQueues })).rejects.toMatchObject({
      code: "configuration",
      message:
        "This store does not keep messages, which tasks of SDK v1 need. Use a store that does, such as sqliteStore(path).",
    });
  });

  it("is deleted with its task", async () => {
    const { create, clock, taskStore, taskMessageQueue } = await setUp();
    const { taskId } = await create({ ttl: 1000 });
    await taskMessageQueue.enqueue(taskId, message);
    await taskStore.storeTaskResult(taskId, "completed", done);
    await clock.advance(1000);
    expect(await taskMessageQueue.dequeueAll(taskId)).toEqual([]);
  });
});

describe.each(storeNames)("on %s", (name) => {
  it("requests of every kind can be tasks", async () => {
    const { taskStore } = await openDurable(name);
    for (const method of ["tools/call", "sampling/createMessage", "elicitation/create", "prompts/get"]) {
      const { taskId } = await taskStore.createTask({}, "r", { method });
      expect(await taskStore.getTask(taskId)).toMatchObject({ taskId, status: "working" });
    }
  });

  it("requests reject after it is closed", async () => {
    const store = await newStore(name);
    const durable = await openDurable(name, { store });
    await durable.close();
    await expect(durable.taskStore.getTask("x")).rejects.toMatchObject({ code: "store_closed" });
  });
});
