import type { QueuedMessage } from "@modelcontextprotocol/sdk/experimental/tasks";
import { expect, it } from "vitest";
import type { SdkV1Options } from "../../src/sdk-v1/options.ts";
import { memoryDatabase, memoryStore } from "../../src/store/sqlite/memory-store.ts";
import { FakeClock } from "../../src/testing/clocks.ts";
import { Failing, watchedStore } from "../runtime/watched-store.ts";
import { openDurable } from "./stores.ts";

const call = { method: "tools/call", params: { name: "report" } };
const done = { content: [] };

/** Numbers the owners, so that a test can name them. */
class NumberingClock extends FakeClock {
  #owners = 0;
  override uniqueName(): string {
    return `owner-${++this.#owners}`;
  }
}

/** Processes on one database; the first to be opened is `owner-1`. */
function processes() {
  const clock = new NumberingClock();
  const database = memoryDatabase();
  const open = (options: Partial<SdkV1Options> = {}) =>
    openDurable("memory", { store: memoryStore(database), ...options }, clock);
  return { clock, database, open };
}

it("leaves the tasks of processes that live alone, whoever starts", async () => {
  const { clock, open } = processes();
  const first = await open();
  const { taskId } = await first.taskStore.createTask({}, 1, call);
  const second = await open();
  await clock.advance(5000);
  expect((await second.taskStore.getTask(taskId))?.status).toBe("working");
  await second.taskStore.storeTaskResult(taskId, "completed", done);
  expect(await first.taskStore.getTaskResult(taskId)).toEqual(done);
});

it.each(["killed", "closed"])("fails the tasks of a process that is %s within a second", async (how) => {
  const { clock, database, open } = processes();
  const first = await open();
  const { taskStore } = await open();
  const { taskId } = await first.taskStore.createTask({}, 1, call);
  await (how === "killed" ? database.kill("owner-1") : first.close());
  await clock.advance(1000);
  expect((await taskStore.getTask(taskId))?.status).toBe("failed");
});

it("asks one process what becomes of a task, and once", async () => {
  const { clock, database, open } = processes();
  const first = await open();
  const told: string[] = [];
  const onRestart = (by: string) => (task: { readonly taskId: string }) => {
    told.push(`${by} ${task.taskId}`);
    return "keep" as const;
  };
  const second = await open({ onRestart: onRestart("2") });
  await open({ onRestart: onRestart("3") });
  const made = await Promise.all([1, 2, 3].map((id) => first.taskStore.createTask({}, id, call)));
  const ids = made.map(({ taskId }) => taskId);
  await first.taskStore.updateTaskStatus(ids[0] ?? "", "input_required");
  database.kill("owner-1");
  await clock.advance(60_000);
  expect(told.map((each) => each.slice(2)).toSorted()).toEqual(ids.toSorted());
  for (const id of ids) expect((await second.taskStore.getTask(id))?.status).toBe("working");
  // A process that kept them can be gone as well.
  told.length = 0;
  database.kill("owner-2");
  await clock.advance(1000);
  for (const each of told) expect(each).toMatch(/^3 /);
});

it("fails a task about which onRestart throws, and says so", async () => {
  const { clock, database, open } = processes();
  const first = await open();
  const { taskId } = await first.taskStore.createTask({}, 1, call);
  const errors: unknown[] = [];
  const onRestart = () => {
    throw new Error("no idea");
  };
  const { taskStore } = await open({ onRestart, onError: (error) => errors.push(String(error)) });
  database.kill("owner-1");
  await clock.advance(1000);
  expect(errors).toEqual(["Error: no idea"]);
  expect((await taskStore.getTask(taskId))?.status).toBe("failed");
});

it.each(["start", "request", "settle"] as const)(
  "asks no second time where the store fails at %s",
  async (failing) => {
    const { clock, database, open } = processes();
    const first = await open();
    const { taskId } = await first.taskStore.createTask({}, 1, call);
    const told: string[] = [];
    const errors: unknown[] = [];
    const { taskStore } = await open({
      store: watchedStore(memoryStore(database), new Failing(failing).before),
      onRestart: (task) => {
        told.push(task.taskId);
        return "fail";
      },
      onError: (error) => errors.push(error),
    });
    database.kill("owner-1");
    await clock.advance(1000);
    expect((await taskStore.getTask(taskId))?.status).toBe("working");
    await clock.advance(5000);
    expect((await taskStore.getTask(taskId))?.status).toBe("failed");
    expect(told).toEqual([taskId]);
    expect(errors).toMatchObject([{ code: "store_failed" }]);
  },
);

it("gives messages that are bound to a process to no other one", async () => {
  const { clock, database, open } = processes();
  const first = await open();
  const second = await open({ onRestart: "keep" });
  const { taskId } = await first.taskStore.createTask({}, 1, call);
  const [request, notification] = (["request", "notification"] as const).map(
    (type) => ({ type, timestamp: 1, message: { jsonrpc: "2.0" } }) as unknown as QueuedMessage,
  );
  if (request === undefined || notification === undefined) throw new Error("unreachable");
  for (const message of [request, notification, request]) {
    await first.taskMessageQueue.enqueue(taskId, message);
  }
  expect(await second.taskMessageQueue.dequeueAll(taskId)).toEqual([notification]);
  expect(await first.taskMessageQueue.dequeue(taskId)).toEqual(request);
  database.kill("owner-1");
  await clock.advance(1000);
  // The one that is left is gone with its process, and takes no room.
  await second.taskMessageQueue.enqueue(taskId, notification, undefined, 1);
  expect(await second.taskMessageQueue.dequeueAll(taskId)).toEqual([notification]);
});

it("tells a process that was taken for dead, once", async () => {
  const { clock, database, open } = processes();
  const errors: unknown[] = [];
  const { taskStore } = await open({ onError: (error) => errors.push(error) });
  await clock.advance(0);
  database.kill("owner-1");
  for (let minutes = 0; minutes < 2; minutes++) {
    await clock.advance(1000);
    await clock.advance(59_000);
  }
  expect(errors).toMatchObject([{ code: "store_lost" }]);
  await expect(taskStore.createTask({}, 1, call)).rejects.toMatchObject({ code: "store_lost" });
});
