import { expect, test } from "vitest";
import { preparedKey } from "../../src/runtime/execution/prepare-in-task.ts";
import { encodeJournalKey } from "../../src/task/journal.ts";
import { Process, text, type Setup } from "./harness.ts";

// What is kept of a task's past: when what it journalled began, and its attempts.

const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };

test("a step began when its function was first called, however often it is tried", async () => {
  let runs = 0;
  const process = await Process.started({
    tools: {
      flaky: async (_, task) => {
        await task.sleep("before", 100);
        await task.step("get", { retries: 1 }, () => {
          if (runs++ === 0) throw new Error("busy");
        });
        return text("done");
      },
    },
  });
  const begun = process.clock.now();
  const id = await process.callId("flaky");
  await process.journalHas(id, "before");
  await process.clock.advance(100);
  await process.journalHas(id, "get");
  expect(await process.store.journalEntry(id, "get")).toMatchObject({ begunAt: begun + 100, doneAt: null });
  await process.clock.advance(10_000);
  await process.ended(id);
  expect(runs).toBe(2);
  const entry = await process.store.journalEntry(id, "get");
  expect(entry).toMatchObject({ begunAt: begun + 100, tries: 1 });
  expect(entry?.doneAt).toBeGreaterThan(begun + 100);
  expect(await process.store.journalEntry(id, "before")).toMatchObject({
    begunAt: begun,
    doneAt: begun + 100,
  });
});

test("what prepare does in a task began when it was called, and not when its questions were answered", async () => {
  const process = await Process.started({
    tools: {
      tool: {
        config: {
          prepare: async (_args: unknown, call) => {
            await call.elicit("ask", question);
            return undefined;
          },
        },
        handler: () => text("done"),
      },
    },
  });
  const begun = process.clock.now();
  const id = await process.callId("tool", { prepareInTask: true });
  const { inputs } = await process.asked(id);
  await process.clock.advance(500);
  await process.answer(id, inputs[0]?.key ?? "", { action: "accept", content: {} });
  await process.ended(id);
  const key = encodeJournalKey(preparedKey);
  expect(await process.store.journalEntry(id, key)).toMatchObject({ begunAt: begun, doneAt: begun + 500 });
});

test("a record tells of a handler that was tried again, parked, and lost with its process", async () => {
  let runs = 0;
  const setup: Setup = {
    options: { maxParkedFrames: 0 },
    tools: {
      tool: {
        config: { retry: { attempts: 2 } },
        handler: async (_, task) => {
          if (runs++ === 0) throw new Error("busy");
          await task.sleep("long", 60_000);
          await task.step("forever", () => gate.promise);
          return text("done");
        },
      },
    },
  };
  const gate = Promise.withResolvers<void>();
  const process = await Process.started(setup);
  const id = await process.callId("tool");
  await process.until(id, ({ task }) => task.failures === 1);
  await process.clock.advance(2_000);
  await process.until(id, ({ task }) => task.attempts.at(-1)?.end === "parked");
  await process.clock.advance(60_000);
  await process.until(id, ({ task }) => task.attempt === 3 && task.state === "running");
  const next = await process.crash(setup);
  gate.resolve();
  const { task } = await next.ended(id);
  const ends = task.attempts.map(({ number, end, error }) => [number, end, error]);
  expect(ends).toEqual([
    [1, "retried", "Attempt 1 of 2 failed: busy"],
    [2, "parked", undefined],
    [3, "lost", "The process that ran it is gone."],
    [4, "settled", undefined],
  ]);
});
