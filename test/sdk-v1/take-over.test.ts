import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { QueuedMessage } from "@modelcontextprotocol/sdk/experimental/tasks";
import { describe, expect, it, onTestFinished } from "vitest";
import { createRuntime } from "../../src/runtime/create-runtime.ts";
import { Registry } from "../../src/runtime/tool/registry.ts";
import { createTask } from "../../src/sdk-v1/task-commands.ts";
import type { UnfinishedTask } from "../../src/sdk-v1/restart.ts";
import { memoryDatabase, memoryStore } from "../../src/store/sqlite/memory-store.ts";
import { sqliteStore } from "../../src/store/sqlite/sqlite-store.ts";
import { createQueued, createRunning } from "../../src/testing/sample-task.ts";
import { FakeClock } from "../../src/testing/clocks.ts";
import { newFolder, openDurable } from "./stores.ts";

const call = { method: "tools/call", params: { name: "report", arguments: { month: "2026-10" } } };
const done = { content: [] };

async function newDatabase(): Promise<string> {
  return join(await newFolder(), "tasks.db");
}

/** What one process after another does with one file. */
async function nextProcess(path: string, options: Parameters<typeof openDurable>[1] = {}) {
  return openDurable("sqlite", { ...options, store: sqliteStore(path) });
}

function message(type: QueuedMessage["type"]): QueuedMessage {
  return { type, timestamp: 1, message: { jsonrpc: "2.0", id: 1 } } as unknown as QueuedMessage;
}

describe("unfinished tasks of the last process", () => {
  it("are kept with onRestart: keep, and end like any other", async () => {
    const path = await newDatabase();
    const first = await nextProcess(path);
    const { taskId } = await first.taskStore.createTask({}, 1, call);
    await first.taskStore.updateTaskStatus(taskId, "input_required", "asking");
    await first.close();
    const { taskStore } = await nextProcess(path, { onRestart: "keep" });
    expect(await taskStore.getTask(taskId)).toMatchObject({ status: "working", statusMessage: "asking" });
    await taskStore.updateTaskStatus(taskId, "input_required");
    await taskStore.storeTaskResult(taskId, "completed", done);
    expect(await taskStore.getTaskResult(taskId)).toEqual(done);
  });

  it("are passed to an onRestart function", async () => {
    const path = await newDatabase();
    const first = await nextProcess(path);
    const kept = await first.taskStore.createTask({ context: { job: 7 } }, "r1", call, "s1");
    const failed = await first.taskStore.createTask({}, 2, { method: "prompts/get" });
    await first.close();
    const told: UnfinishedTask[] = [];
    const { taskStore } = await nextProcess(path, {
      onRestart: async (task) => {
        told.push(task);
        return task.context === undefined ? "fail" : "keep";
      },
    });
    const none = { sessionId: undefined, context: undefined };
    expect(told.toSorted((a) => (a.taskId === kept.taskId ? -1 : 1))).toEqual([
      {
        taskId: kept.taskId,
        request: call,
        requestId: "r1",
        sessionId: "s1",
        context: { job: 7 },
        createdAt: new Date(kept.createdAt),
      },
      {
        taskId: failed.taskId,
        request: { method: "prompts/get" },
        requestId: 2,
        ...none,
        createdAt: new Date(failed.createdAt),
      },
    ]);
    expect((await taskStore.getTask(kept.taskId))?.status).toBe("working");
    expect((await taskStore.getTask(failed.taskId))?.status).toBe("failed");
  });

  it("are all handled, across pages", async () => {
    const database = memoryDatabase();
    const store = memoryStore(database);
    await store.open({ id: "first", handlers: [] });
    const asked = {
      params: {},
      requestId: 1,
      request: call,
      sessionId: undefined,
      owner: undefined,
      ttlMs: null,
    };
    const clock = new FakeClock();
    await Promise.all(Array.from({ length: 1001 }, () => store.write(createTask(asked, { clock }))));
    await store.close();
    const keeping = memoryStore(database);
    const second = await openDurable("memory", { store: keeping, onRestart: "keep" });
    const kept = await keeping.unfinished("", 2000);
    expect(kept.filter(({ state }) => state === "running")).toHaveLength(1001);
    await second.close();
    const failing = memoryStore(database);
    await openDurable("memory", { store: failing });
    expect(await failing.unfinished("", 2000)).toEqual([]);
  });

  it("fail and are reported if their request cannot be read, and the others are handled", async () => {
    const path = await newDatabase();
    const first = await nextProcess(path);
    const made = await Promise.all([1, 2, 3, 4].map((id) => first.taskStore.createTask({}, id, call)));
    const [noJson, noOrigin, noRequest, fine] = made.map(({ taskId }) => taskId);
    await first.close();
    const db = new DatabaseSync(path);
    db.prepare("UPDATE request SET arguments = '{' WHERE task_id = ?").run(noJson ?? "");
    db.prepare("UPDATE request SET origin = '{' WHERE task_id = ?").run(noOrigin ?? "");
    db.prepare("DELETE FROM request WHERE task_id = ?").run(noRequest ?? "");
    db.close();
    const told: string[] = [];
    const errors: unknown[] = [];
    const { taskStore } = await nextProcess(path, {
      onRestart: ({ taskId }) => (told.push(taskId), "keep"),
      onError: (error) => errors.push(error),
    });
    expect(told).toEqual([fine]);
    expect(errors).toMatchObject(Array.from({ length: 3 }, () => ({ code: "task_unreadable" })));
    const statuses = await Promise.all(
      made.map(async ({ taskId }) => (await taskStore.getTask(taskId))?.status),
    );
    expect(statuses).toEqual(["failed", "failed", "failed", "working"]);
  });

  it("leave the store closed if onRestart throws", async () => {
    const path = await newDatabase();
    const first = await nextProcess(path);
    await first.taskStore.createTask({}, 1, call);
    await first.close();
    const cannot = () => {
      throw new Error("no idea");
    };
    await expect(nextProcess(path, { onRestart: cannot })).rejects.toThrow("no idea");
    await nextProcess(path);
  });

  it("lose their queued requests and keep their queued notifications", async () => {
    const path = await newDatabase();
    const first = await nextProcess(path);
    const { taskId } = await first.taskStore.createTask({}, 1, call);
    for (const type of ["request", "notification", "response", "error", "notification"] as const) {
      await first.taskMessageQueue.enqueue(taskId, message(type));
    }
    await first.close();
    const { taskMessageQueue } = await nextProcess(path, { onRestart: "keep" });
    const notification = message("notification");
    expect(await taskMessageQueue.dequeueAll(taskId)).toEqual([notification, notification]);
  });
});

describe("a store with tasks of SDK v1 and of a runtime", () => {
  it("hides the runtime's tasks from SDK v1 servers", async () => {
    const path = await newDatabase();
    const store = sqliteStore(path);
    await store.open({ id: "runtime", handlers: [] });
    const members = {
      generation: "2025-11-25",
      principal: null,
      expiry: { from: "created", ms: null },
    } as const;
    await store.write(createQueued("queued", members));
    await store.write(createRunning("running", members));
    await store.close();

    const second = await nextProcess(path);
    const { taskStore } = second;
    const own = await taskStore.createTask({}, 1, call);
    expect(await taskStore.getTask("task-running")).toBeNull();
    await expect(taskStore.updateTaskStatus("task-running", "cancelled")).rejects.toThrow("not found");
    const { tasks } = await taskStore.listTasks();
    expect(tasks.map(({ taskId }) => taskId)).toEqual([own.taskId]);
    await second.close();

    const again = sqliteStore(path);
    await again.open({ id: "again", handlers: [] });
    onTestFinished(() => again.close());
    const left = (await again.unfinished("", 9)).filter(({ id }) => id !== own.taskId);
    expect(left.map(({ id, state }) => [id, state])).toEqual([
      ["task-queued", "queued"],
      ["task-running", "queued"], // given back, since the process that ran it is gone
    ]);
  });

  it("hides tasks of SDK v1 servers from a runtime, which never runs them", async () => {
    const path = await newDatabase();
    const first = await nextProcess(path);
    const { taskId } = await first.taskStore.createTask({ ttl: null }, 1, call);
    await first.taskStore.updateTaskStatus(taskId, "input_required");
    await first.close();

    const ran: string[] = [];
    const registry = new Registry();
    registry.add("report", { onCrash: "resume" }, () => {
      ran.push("report");
      return { content: [] };
    });
    const clock = new FakeClock();
    const runtime = createRuntime({ store: sqliteStore(path), registry, clock });
    await runtime.start();
    await clock.advance(30_000);
    await runtime.stop();
    expect(ran).toEqual([]);

    const { taskStore } = await nextProcess(path, { onRestart: "keep" });
    expect((await taskStore.getTask(taskId))?.status).toBe("working");
    await taskStore.storeTaskResult(taskId, "completed", done);
    expect(await taskStore.getTaskResult(taskId)).toEqual(done);
  });
});
