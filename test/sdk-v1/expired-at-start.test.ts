import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { openTasks, type SdkV1Tasks } from "../../src/sdk-v1/open-tasks.ts";
import { sqliteStore } from "../../src/store/sqlite/sqlite-store.ts";
import { FakeClock } from "../../src/testing/clocks.ts";
import { Held, watchedStore } from "../runtime/watched-store.ts";
import { newFolder } from "./stores.ts";

const call = { method: "tools/call", params: { name: "report" } };

/** The next process, after tasks of the last one expired, whose sweeper does not come to them until `due` opens. */
async function afterExpiry(count: number): Promise<{ ids: string[]; next: SdkV1Tasks; told: string[] }> {
  const path = join(await newFolder(), "tasks.db");
  const clock = new FakeClock();
  const first = await openTasks({ store: sqliteStore(path) }, clock);
  const made = await Promise.all(
    Array.from({ length: count }, (_, id) => first.taskStore.createTask({ ttl: 5000 }, id, call)),
  );
  await first.close();
  clock.jump(5000);
  const due = new Held("due");
  const told: string[] = [];
  const onRestart = ({ taskId }: { taskId: string }) => (told.push(taskId), "keep" as const);
  const next = await openTasks({ store: watchedStore(sqliteStore(path), due.before), onRestart }, clock);
  onTestFinished(async () => {
    due.open();
    await next.close();
  });
  return { ids: made.map(({ taskId }) => taskId), next, told };
}

it("does not wait for tasks that expired while the server was down, nor calls onRestart for them", async () => {
  const { told } = await afterExpiry(2);
  expect(told).toEqual([]);
});

it("shows an expired task as ended before it is swept [A-30]", async () => {
  const { ids, next } = await afterExpiry(3);
  const [asked = ""] = ids;
  expect(await next.taskStore.getTask(asked)).toMatchObject({ status: "failed" });
  const { tasks } = await next.taskStore.listTasks();
  expect(tasks.map(({ status }) => status)).toEqual(["failed", "failed", "failed"]);
});
