import { expect, it } from "vitest";
import { rest } from "../../src/testing/clocks.ts";
import { bodyOf, Process, text, type Handler } from "./harness.ts";

const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
const yes = { action: "accept", content: {} };

/** Handlers that run until they are let on, by tool. */
class Running {
  readonly ends: (() => void)[] = [];
  most = 0;

  readonly handler: Handler = async () => {
    await new Promise<void>((resolve) => {
      this.ends.push(resolve);
      this.most = Math.max(this.most, this.ends.length);
    });
    return text("ran");
  };

  endOne(): void {
    this.ends.shift()?.();
  }
}

async function callMany(process: Process, tool: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < count) {
    process.clock.jump(1); // those of one millisecond have no order
    ids.push(await process.callId(tool));
  }
  await rest();
  return ids;
}

it("a tool with a limit runs no more handlers than that, and as many as soon as it can", async () => {
  const [few, many] = [new Running(), new Running()];
  const tools = { few: { config: { concurrency: 2 }, handler: few.handler }, many: many.handler };
  const process = await Process.started({ tools });
  const ids = await callMany(process, "few", 7);
  await callMany(process, "many", 5);
  expect([few.ends.length, many.ends.length]).toEqual([2, 5]);
  for (let left = 7; left > 0; left--) {
    expect(few.ends.length).toBe(Math.min(left, 2));
    few.endOne();
    await rest();
  }
  for (const id of ids) expect(bodyOf(await process.ended(id))).toEqual(text("ran"));
  expect(few.most).toBe(2);
});

it("what a cancel, a failure or a restart ends makes room, too", async () => {
  const running = new Running();
  const one = { config: { concurrency: 1, onCrash: "resume" as const }, handler: running.handler };
  const first = await Process.started({ tools: { one } });
  const [cancelled = "", crashed = "", last = ""] = await callMany(first, "one", 3);
  expect(running.ends).toHaveLength(1);
  await first.cancel(cancelled);
  await first.clock.advance(10_000); // its handler does not heed the signal
  expect((await first.ended(cancelled)).task.state).toBe("cancelled");
  expect((await first.get(crashed)).task).toMatchObject({ state: "running", limited: true });
  const again = new Running();
  const second = await first.crash({ tools: { one: { ...one, handler: again.handler } } });
  await rest();
  expect(again.ends).toHaveLength(1);
  again.endOne();
  await rest();
  again.endOne();
  for (const id of [crashed, last]) expect(bodyOf(await second.ended(id))).toEqual(text("ran"));
  expect(again.most).toBe(1);
});

it("a task that waits for an answer keeps its place for a second, and gets one when it is answered", async () => {
  let working = 0;
  const asks: Handler = async (_, task) => {
    await task.elicit("q", question);
    return task.step("work", async () => {
      expect(++working).toBe(1);
      await rest();
      working--;
      return text(`attempt ${task.attempt}`);
    });
  };
  const process = await Process.started({ tools: { asks: { config: { concurrency: 1 }, handler: asks } } });
  const [quick = "", slow = ""] = await callMany(process, "asks", 2);
  await process.clock.advance(900);
  expect((await process.get(slow)).task.state).toBe("queued");
  await process.answer(quick, "q", yes);
  expect(bodyOf(await process.ended(quick))).toEqual(text("attempt 1"));
  await process.asked(slow);
  const [other = ""] = await callMany(process, "asks", 1);
  await process.clock.advance(1_000);
  expect((await process.get(slow)).task).toMatchObject({ state: "queued", waiting: true, limited: false });
  await process.asked(other);
  await process.answer(slow, "q", yes);
  await rest();
  expect((await process.get(slow)).task).toMatchObject({ state: "queued", lane: "woken" });
  await process.answer(other, "q", yes);
  expect(bodyOf(await process.ended(other))).toEqual(text("attempt 1"));
  expect(bodyOf(await process.ended(slow))).toEqual(text("attempt 2"));
});

it("tasks of a tool with a higher priority come first, whenever they were called", async () => {
  const seen: string[] = [];
  const gate = Promise.withResolvers<void>();
  const named =
    (name: string): Handler =>
    () => (seen.push(name), text(name));
  const process = await Process.started({
    options: { concurrency: 1 },
    tools: {
      busy: async () => (await gate.promise, text("busy")),
      low: { config: { priority: -1 }, handler: named("low") },
      normal: named("normal"),
      high: { config: { priority: 5 }, handler: named("high") },
    },
  });
  await process.callId("busy");
  const ids: string[] = [];
  for (const tool of ["low", "normal", "high", "low", "normal", "high"]) ids.push(await process.callId(tool));
  gate.resolve();
  for (const id of ids) await process.ended(id);
  expect(seen).toEqual(["high", "high", "normal", "normal", "low", "low"]);
});
