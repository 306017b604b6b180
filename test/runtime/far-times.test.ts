import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createRuntime } from "../../src/runtime/create-runtime.ts";
import type { RuntimeOptions } from "../../src/runtime/options.ts";
import type { TaskCall } from "../../src/runtime/runtime.ts";
import { Registry } from "../../src/runtime/tool/registry.ts";
import { openTasks } from "../../src/sdk-v1/open-tasks.ts";
import { sqliteStore } from "../../src/store/sqlite/sqlite-store.ts";
import { nobody, text } from "./harness.ts";
import { wholeJournal } from "../../src/testing/sample-task.ts";

const far = Number.MAX_SAFE_INTEGER;
const never = new Promise<never>(() => undefined);

let directory = "";
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-far-"));
});
afterEach(() => rm(directory, { recursive: true }));

/** A runtime on the file, all of whose times are as far away as its options let them be. */
async function started(options: RuntimeOptions) {
  const registry = new Registry();
  const reached = Promise.withResolvers<void>();
  registry.add("ends", {}, () => text("done"));
  registry.add("waits", { onCrash: "resume" }, () => never);
  registry.add("extends", { onCrash: "resume" }, async (_, task) => {
    await task.extend(far);
    await task.pollInterval(far);
    reached.resolve();
    return never;
  });
  registry.add("sleeps", { onCrash: "resume" }, async (_, task) => {
    const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
    await Promise.all([task.sleep("s", far), task.elicit("q", question, { timeoutMs: far })]);
    return text("late");
  });
  const store = sqliteStore(join(directory, "tasks.db"));
  const errors: unknown[] = [];
  const runtime = createRuntime({
    store,
    registry,
    options: { ...options, stopDeadlineMs: 0 },
    onError: (error) => errors.push(error),
  });
  await runtime.start();
  const call = async (tool: string, more: Partial<TaskCall> = {}): Promise<string> => {
    const origin = { capabilities: { elicitation: {} } };
    return (await runtime.create({ ...nobody, tool, arguments: {}, origin, ...more })).task.id;
  };
  return { runtime, store, errors, call, reached: reached.promise };
}

it.each<[string, RuntimeOptions, number]>([
  ["as options are by default, which refuse such waits", {}, 0],
  [
    "as far as options go",
    { ttlMs: far, maxRunMs: far, maxTtlMs: far, inputTimeoutMs: far, expiredVisibleMs: far },
    2,
  ],
  ["without a ttl", { ttlMs: null, maxRunMs: far, requestedTtl: "task" }, 2],
  ["kept from the end", { keepMs: far, maxRunMs: far, maxTtlMs: far }, 2],
])("times that lie too far ahead harm neither their task nor the store: %s", async (_, options, waits) => {
  const first = await started(options);
  const ids = [
    await first.call("waits", { ttlMs: far }),
    await first.call("waits", { ttlMs: far, keepAlive: true }),
    await first.call("waits", { keptMs: far }),
    await first.call("ends"),
    await first.call("sleeps"),
    await first.call("extends"),
  ];
  await first.reached;
  await expect.poll(async () => (await wholeJournal(first.store, ids[4] ?? "")).length).toBe(waits);
  await first.runtime.cancel(ids[0] ?? "", nobody);
  expect(await first.runtime.list(nobody, { limit: 99 })).toHaveLength(ids.length);
  await first.runtime.stop();

  const second = await started(options);
  for (const id of ids) expect((await second.runtime.get(id, nobody)).task.id).toBe(id);
  expect(await second.runtime.list(nobody, { limit: 99 })).toHaveLength(ids.length);
  await second.runtime.stop();
  expect([...first.errors, ...second.errors]).toEqual([]);
});

it("a ttl of SDK v1 that is not bounded ends at the latest time there is", async () => {
  const open = () =>
    openTasks({ store: sqliteStore(join(directory, "tasks.db")), onRestart: "keep", maxTtlMs: null });
  const request = { method: "tools/call", params: { name: "t" } };
  const first = await open();
  const { taskId } = await first.taskStore.createTask({ ttl: 1e17 }, 1, request, "s");
  await first.taskStore.updateTaskStatus(taskId, "working", "on its way", "s");
  await first.close();
  const second = await open();
  expect(await second.taskStore.getTask(taskId, "s")).toMatchObject({ status: "working" });
  await second.taskStore.storeTaskResult(taskId, "completed", {}, "s");
  expect((await second.taskStore.listTasks(undefined, "s")).tasks).toHaveLength(1);
  await second.close();
});
