import type {
  QueuedMessage,
  TaskMessageQueue,
  TaskStore,
} from "@modelcontextprotocol/sdk/experimental/tasks";
import { expect, it, onTestFinished } from "vitest";
import { memoryDatabase, memoryStore } from "../../src/store/sqlite/memory-store.ts";
import { openTasks } from "../../src/sdk-v1/open-tasks.ts";
import type { SdkV1Options } from "../../src/sdk-v1/options.ts";
import { openDurable, storeNames } from "./stores.ts";

// Servers in plain JavaScript pass anything. What a task cannot have is refused, and the store goes on.

const call = { method: "tools/call", params: { name: "x" } };
const cycle: Record<string, unknown> = {};
cycle["itself"] = cycle;

interface Server {
  readonly store: TaskStore;
  readonly queue: TaskMessageQueue;
  readonly id: string;
}

const mistakes: readonly (readonly [
  mistake: string,
  (server: Server) => Promise<unknown>,
  allowed: string,
])[] = [
  [
    "an unknown status",
    ({ store, id }) => store.updateTaskStatus(id, "running" as never),
    "working, input_required, completed, failed, cancelled",
  ],
  ["no status", ({ store, id }) => store.updateTaskStatus(id, undefined as never), "working, input_required"],
  ["an object as text", ({ store, id }) => store.updateTaskStatus(id, "working", {} as never), "a text"],
  [
    "a result of a task that works",
    ({ store, id }) => store.storeTaskResult(id, "working" as never, {}),
    "completed, failed",
  ],
  [
    "a result with a cycle",
    ({ store, id }) => store.storeTaskResult(id, "completed", cycle),
    "plain JSON data",
  ],
  [
    "no options",
    ({ store }) => store.createTask(undefined as never, 1, call),
    "{ ttl, pollInterval, context }",
  ],
  [
    "a ttl as text",
    ({ store }) => store.createTask({ ttl: "1h" as never }, 1, call),
    "a number of milliseconds",
  ],
  [
    "a poll interval that is no number",
    ({ store }) => store.createTask({ pollInterval: NaN }, 1, call),
    "a number",
  ],
  ["no request", ({ store }) => store.createTask({}, 1, undefined as never), "a method"],
  ["a request without a method", ({ store }) => store.createTask({}, 1, {} as never), "a method"],
  ["a context with a cycle", ({ store }) => store.createTask({ context: cycle }, 1, call), "plain JSON data"],
  ["a request id that is none", ({ store }) => store.createTask({}, {} as never, call), "a text or a number"],
  ["no message", ({ queue, id }) => queue.enqueue(id, undefined as never), "plain JSON data"],
  [
    "a size that is no number",
    ({ queue, id }) => queue.enqueue(id, { type: "notification" } as QueuedMessage, undefined, NaN),
    "a number",
  ],
];

it.each(storeNames)("what a task cannot have is refused with what is allowed (%s)", async (name) => {
  const { taskStore: store, taskMessageQueue: queue } = await openDurable(name);
  const { taskId: id } = await store.createTask({}, 1, call);
  for (const [mistake, make, allowed] of mistakes) {
    const refused = await make({ store, queue, id }).catch((error: unknown) => error);
    const message = expect.stringContaining(allowed) as string;
    expect([mistake, refused]).toMatchObject([mistake, { code: "invalid_params", message }]);
  }
  expect(await store.getTask(undefined as never)).toBeNull();
  await store.storeTaskResult(id, "completed", { done: true });
  expect(await store.getTaskResult(id)).toEqual({ done: true });
});

/** A server that stopped and left a task; what the next one starts with. */
async function afterStop(options: Omit<SdkV1Options, "store">) {
  const database = memoryDatabase();
  const first = await openTasks({ store: memoryStore(database) });
  const { taskId } = await first.taskStore.createTask({}, 1, call);
  await first.close();
  return { taskId, next: () => openTasks({ ...options, store: memoryStore(database) }) };
}

it("an onRestart without a return fails the start, and the next start decides", async () => {
  const answers = [undefined, "keep"];
  const { taskId, next } = await afterStop({ onRestart: () => answers.shift() as never });
  await expect(next()).rejects.toMatchObject({
    code: "invalid_params",
    message: expect.stringContaining('"fail" or "keep"') as string,
  });
  const opened = await next();
  expect(await opened.taskStore.getTask(taskId)).toMatchObject({ status: "working" });
  await opened.close();
});

it("an onRestart of an unknown name is refused", async () => {
  const { next } = await afterStop({ onRestart: "resume" as never });
  await expect(next()).rejects.toMatchObject({ code: "configuration" });
});

it.each([
  ["null", null],
  ["a promise", Promise.resolve("ann")],
])("an owner that is %s neither owns tasks nor sees them", async (_, returned) => {
  const answers: unknown[] = [undefined];
  const owner = () => (answers.length > 0 ? answers.shift() : returned) as string | undefined;
  const opened = await openTasks({ owner, store: memoryStore() });
  onTestFinished(() => opened.close());
  const { taskStore } = opened;
  const { taskId } = await taskStore.createTask({}, 1, call);
  const refused = { code: "configuration", message: expect.stringContaining("owner returned") as string };
  await expect(taskStore.createTask({}, 1, call)).rejects.toMatchObject(refused);
  await expect(taskStore.getTask(taskId)).rejects.toMatchObject(refused);
  await expect(taskStore.listTasks()).rejects.toMatchObject(refused);
});
