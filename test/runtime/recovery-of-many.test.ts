import { expect, it } from "vitest";
import { createRuntime } from "../../src/runtime/create-runtime.ts";
import { Registry } from "../../src/runtime/tool/registry.ts";
import { memoryStore } from "../../src/store/memory/memory-store.ts";
import type { TaskCommand } from "../../src/task/command.ts";
import { createQueued, createRunning } from "../contract/sample-task.ts";
import { FakeClock } from "./fake-clock.ts";
import { Process, text, type Handler } from "./harness.ts";
import { watchedStore } from "./watched-store.ts";

const hang: Handler = () => new Promise(() => undefined);

it("takes over every task of thousands, oldest first", async () => {
  const first = await Process.started({ tools: { counts: hang }, options: { concurrency: 1 } });
  const ids: string[] = [];
  // More than two pages of what the store hands out, and a page that ends with the last of them.
  for (let n = 0; n < 1_500; n++) ids.push(await first.callId("counts"));
  const seen: string[] = [];
  const config = { onCrash: "resume" as const };
  const counts: Handler = (_, task) => (seen.push(task.id), text("ran"));
  const second = await first.crash({
    tools: { counts: { config, handler: counts } },
    options: { concurrency: 1 },
  });
  for (const id of ids) await second.ended(id);
  expect(seen).toEqual(ids.toSorted());
  expect(await second.store.unfinished("", 10)).toEqual([]);
});

it("leaves no timer behind for tasks that pause, or wait for their tool, when it stops", async () => {
  const config = { onCrash: "resume" as const };
  const tools = { poison: { config, handler: hang } };
  let process = await Process.started({ tools: { ...tools, gone: hang } });
  const gone = await process.callId("gone");
  const poison = await process.callId("poison");
  for (let crash = 0; crash < 3; crash++) {
    process = await process.crash({ tools });
    await process.clock.advance(2_000);
  }
  await process.until(poison, ({ task }) => task.state === "running");
  const { armed } = process.clock; // by those that died
  process = await process.crash({ tools });
  expect((await process.get(poison)).task).toMatchObject({ state: "queued", crashes: 4 });
  expect(process.clock.armed).toBeGreaterThan(armed + 1);
  await process.runtime.stop();
  expect(process.clock.armed).toBe(armed);
  await process.clock.advance(3_600_000);
  for (const id of [gone, poison]) expect((await process.store.get(id))?.state).toBe("queued");
  expect(process.errors).toEqual([]);
});

it("gives all running tasks back, however few of them a store takes at a time", async () => {
  const inner = memoryStore();
  await inner.open();
  const names = ["a", "b", "c", "d", "e"];
  for (const name of names) await inner.write(createRunning(name, { tool: "ends", principal: null }));
  const write = inner.write.bind(inner) as (command: TaskCommand) => Promise<never>;
  const registry = new Registry();
  registry.add("ends", { onCrash: "resume" }, () => text("done"));
  const runtime = createRuntime({
    store: {
      ...watchedStore(inner, () => undefined),
      open: async () => undefined,
      write: (command) =>
        write(
          command.type === "recover"
            ? { ...(command as TaskCommand<"recover">), limit: 2 }
            : (command as TaskCommand),
        ),
    },
    registry,
    clock: new FakeClock(),
  });
  await runtime.start();
  for (const name of names) {
    await expect
      .poll(async () => (await inner.get(`task-${name}`))?.state, { message: name })
      .toBe("settled");
  }
  await runtime.stop();
});

it("lets the event loop turn between the pages that it reads", async () => {
  const inner = memoryStore();
  await inner.open();
  for (let n = 0; n < 501; n++) await inner.write(createQueued(`${n}`));
  const turns: number[] = [];
  let turn = 0;
  const count = (): void => {
    turn++;
    if (turns.length < 2) setImmediate(count);
  };
  count();
  const runtime = createRuntime({
    store: {
      ...watchedStore(inner, (call) => void (call === "unfinished" && turns.push(turn))),
      open: async () => undefined,
    },
    registry: new Registry(),
    clock: new FakeClock(),
  });
  await runtime.start();
  await runtime.stop();
  const [first = 0, second = 0] = turns;
  expect(second).toBeGreaterThan(first);
});
