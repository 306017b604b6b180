import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createTasks, type ServerEvent } from "holdfast";
import { sqliteStore } from "holdfast/sqlite";
import { expect, it, onTestFinished } from "vitest";
import { FakeClock, rest } from "../../../src/testing/clocks.ts";
import { CrashableStore } from "../../../src/testing/crashable-store.ts";
import { memoryDatabase } from "../../../src/store/sqlite/memory-store.ts";
import { createRuntime } from "../../../src/runtime/create-runtime.ts";
import { Registry } from "../../../src/runtime/tool/registry.ts";
import { nobody, Process, text } from "../harness.ts";

it("a task whose record is damaged is told once, beside onError", async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-events-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, "tasks.db");
  const registry = new Registry();
  registry.add("tool", { onCrash: "resume" }, () => new Promise<never>(() => undefined));
  const first = createRuntime({ store: sqliteStore(path), registry, options: { stopDeadlineMs: 0 } });
  await first.start();
  const call = { ...nobody, tool: "tool", arguments: {}, origin: { capabilities: {} } };
  const { id } = (await first.create(call)).task;
  await first.create(call);
  await first.stop();
  const db = new DatabaseSync(path);
  db.prepare("UPDATE task SET progress = 'damaged' WHERE id = ?").run(id);
  db.close();

  const events: ServerEvent[] = [];
  const errors: unknown[] = [];
  const tasks = createTasks({
    store: sqliteStore(path),
    onEvent: (event) => events.push(event),
    onError: (error) => errors.push(error),
  });
  tasks.tool("tool", { onCrash: "resume" }, () => text("done"));
  await tasks.start();
  onTestFinished(() => tasks.stop());
  await expect.poll(() => errors).toHaveLength(1);
  expect(events.filter(({ type }) => type === "task.unreadable")).toMatchObject([
    { taskId: id, error: { name: "HoldfastError", code: "task_unreadable" } },
  ]);
});

it("a process that was taken for dead tells so, once", async () => {
  const database = memoryDatabase();
  const clock = new FakeClock();
  const other = new Process(
    { tools: { hello: () => text("hi") } },
    clock,
    new CrashableStore(undefined, database),
  );
  await other.runtime.start();
  let owner = "";
  const store = new CrashableStore((inner) => {
    const open = inner.open.bind(inner);
    inner.open = (by) => {
      owner = by.id;
      return open(by);
    };
    return inner;
  }, database);
  const lost = new Process({ tools: { hello: () => text("hi") }, onEvent: true }, clock, store);
  await lost.runtime.start();
  database.kill(owner);
  await clock.advance(3_000);
  await rest();
  expect(lost.events.map(({ type }) => type)).toEqual(["store.lost"]);
});
