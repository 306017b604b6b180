import { describe, expect, it } from "vitest";
import type { RuntimeOptions } from "../../src/runtime/options.ts";
import type { TaskCall } from "../../src/runtime/runtime.ts";
import { bodyOf, Process, text, type Handler } from "./harness.ts";
import { wholeJournal } from "../../src/testing/sample-task.ts";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const never = new Promise<never>(() => undefined);
const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
const expired = { code: -32603, data: { "holdfast/expired": true } };

const nap: Handler = async ({ ms }, task) => {
  await task.sleep("nap", Number(ms));
  return text("slept");
};
const asks: Handler = async ({ ms }, task) =>
  text((await task.elicit("ask", question, ms === undefined ? {} : { timeoutMs: Number(ms) })).action);

function setup(options: RuntimeOptions = {}) {
  const short = { config: { ttlMs: minute }, handler: nap };
  return { tools: { nap, asks, short, hangs: () => never, quick: () => text("quick") }, options };
}

const callOf = (ms: number | undefined, more: Partial<TaskCall> = {}): Partial<TaskCall> => ({
  arguments: ms === undefined ? {} : { ms },
  ...more,
});

/** Lets `ms` pass, of which only the last minute is lived through. */
async function pass(process: Process, ms: number): Promise<void> {
  process.clock.suspend(ms - minute);
  await process.clock.advance(minute);
}

const wireTtl = async (process: Process, id: string): Promise<number | null> =>
  (await process.get(id)).task.expiry.ms;

describe("a task without a ttl", () => {
  it("sleeps for sixty days by default, through restarts and crashes, and completes", async () => {
    let process = await Process.started(setup());
    const id = await process.callId("nap", callOf(60 * day));
    let last = 0;
    for (let day_ = 0; day_ < 60; day_ += 10) {
      await process.until(id, ({ task }) => task.waiting);
      await pass(process, 10 * day - hour);
      const ttl = Number(await wireTtl(process, id));
      expect(ttl).toBeGreaterThan(last);
      last = ttl;
      process = day_ % 20 === 0 ? await process.crash(setup()) : await process.restart(setup());
    }
    await process.until(id, ({ task }) => task.waiting);
    await pass(process, 6 * hour);
    const ended = await process.ended(id);
    expect(bodyOf(ended)).toEqual(text("slept"));
    expect(ended.task.expiry.ms).toBeGreaterThanOrEqual(61 * day);
    await pass(process, day - minute);
    expect(bodyOf(await process.get(id))).toEqual(text("slept"));
    await pass(process, 2 * minute);
    await expect(process.get(id)).rejects.toMatchObject({ code: "unknown_task" });
  });

  it("waits for an answer for as long", async () => {
    const process = await Process.started(setup());
    const id = await process.callId("asks");
    await process.asked(id);
    await pass(process, 60 * day);
    await process.answer(id, "ask", { action: "accept", content: {} });
    expect(bodyOf(await process.ended(id))).toEqual(text("accept"));
  });

  it("ends at maxRunMs, and is kept from there as any other", async () => {
    const process = await Process.started(setup({ maxRunMs: 3 * day, keepMs: hour }));
    const id = await process.callId("hangs");
    await pass(process, 3 * day - 1);
    expect((await process.get(id)).task.state).toBe("running");
    expect(await wireTtl(process, id)).toBe(3 * day);
    await process.clock.advance(1);
    expect(bodyOf(await process.ended(id))).toMatchObject(expired);
    expect(await wireTtl(process, id)).toBe(3 * day + hour);
    await pass(process, hour - 1);
    expect(bodyOf(await process.get(id))).toMatchObject(expired);
    await process.clock.advance(1);
    await expect(process.get(id)).rejects.toMatchObject({ code: "unknown_task" });
  });

  it("keeps its life where the next process has other options", async () => {
    const first = await Process.started(setup());
    const free = await first.callId("asks");
    await first.asked(free);
    const second = await first.restart(setup({ ttlMs: hour, keepMs: minute, maxRunMs: hour }));
    const bound = await second.callId("asks");
    await second.asked(bound);
    const third = await second.restart(setup());
    await third.asked(bound);
    await pass(third, hour);
    expect(bodyOf(await third.get(bound))).toMatchObject(expired);
    await pass(third, 10 * day);
    expect((await third.get(free)).task.finishedAt).toBeNull();
  });
});

describe("a ttl that a client asks for", () => {
  const asked = (ms: number): Partial<TaskCall> => ({ ttlMs: ms });

  it("does not end a call that takes longer, and is how long its result is kept [C-103]", async () => {
    const process = await Process.started(setup());
    const id = await process.callId("nap", callOf(75_000, asked(minute)));
    expect(await wireTtl(process, id)).toBe(minute);
    await process.until(id, ({ task }) => task.waiting);
    await process.clock.advance(75_000);
    expect(bodyOf(await process.ended(id))).toEqual(text("slept"));
    expect(await wireTtl(process, id)).toBe(75_000 + minute);
    await process.clock.advance(minute - 1);
    expect(bodyOf(await process.get(id))).toEqual(text("slept"));
    await process.clock.advance(1);
    await expect(process.get(id)).rejects.toMatchObject({ code: "unknown_task" });
  });

  it("bounds the whole task where the server says so", async () => {
    const process = await Process.started(setup({ requestedTtl: "task" }));
    const id = await process.callId("hangs", asked(minute));
    expect(await wireTtl(process, id)).toBe(minute);
    await process.clock.advance(minute);
    expect(bodyOf(await process.ended(id))).toMatchObject(expired);
  });

  it("leaves the tool's own as it is, and keeps no result for longer", async () => {
    const process = await Process.started(setup());
    const { task } = await process.call("short", callOf(0, asked(hour)));
    const kept = await process.store.get(task.id);
    expect(kept).toMatchObject({
      expiry: { from: "terminal", ms: minute },
      sweepAt: task.createdAt + minute,
    });
    const forever = await Process.started(setup({ ttlMs: null }));
    const { expiry } = (await forever.store.get(await forever.callId("quick", asked(hour)))) ?? {};
    expect(expiry).toEqual({ from: "terminal", ms: hour });
  });
});

describe("a wait beyond the end of its task", () => {
  const outlives = (what: string) => ({
    code: -32603,
    message: expect.stringMatching(
      `^The ${what} would end at 202.-.*, after its task, which ends at 202.-`,
    ) as string,
  });

  it.each([
    ["short", 61_000, {}, 'sleep "nap"'],
    ["nap", 366 * day, {}, 'sleep "nap"'],
    ["asks", 2 * hour, { ttlMs: hour }, 'question "ask"'],
    ["nap", 2 * hour, { ttlMs: hour }, 'sleep "nap"'],
    ["nap", 2 * hour, { maxRunMs: hour }, 'sleep "nap"'],
  ])("rejects at once: %s for %d ms under %j", async (tool, ms, options, what) => {
    const process = await Process.started(setup(options));
    const id = await process.callId(tool, callOf(ms));
    expect(bodyOf(await process.ended(id))).toMatchObject(outlives(what));
    expect(await wholeJournal(process.store, id)).toEqual([]);
  });

  it("tells its handler, which can do something else", async () => {
    const cautious: Handler = async (_, task) => {
      const code = await task.sleep("long", 2 * hour).catch((error: { code: string }) => error.code);
      await task.sleep("shorter", minute);
      return text(String(code));
    };
    const process = await Process.started({ tools: { cautious }, options: { ttlMs: hour } });
    const id = await process.callId("cautious");
    await process.until(id, ({ task }) => task.waiting);
    await process.clock.advance(minute);
    expect(bodyOf(await process.ended(id))).toEqual(text("outlives_task"));
  });

  it("is none where the handler extended the life before, though it did not wait for that", async () => {
    const extends_: Handler = async (_, task) => {
      void task.extend(3 * hour);
      await task.sleep("long", 2 * hour);
      return text("slept");
    };
    const process = await Process.started({ tools: { extends_ }, options: { ttlMs: hour } });
    const id = await process.callId("extends_");
    await process.until(id, ({ task }) => task.waiting);
    await pass(process, 2 * hour);
    expect(bodyOf(await process.ended(id))).toEqual(text("slept"));
  });

  it("is none for a timeout that all questions of the server have", async () => {
    const process = await Process.started(setup({ ttlMs: hour, inputTimeoutMs: day }));
    const id = await process.callId("asks");
    await process.asked(id);
    await process.answer(id, "ask", { action: "decline" });
    expect(bodyOf(await process.ended(id))).toEqual(text("decline"));
  });

  it("goes on in a later attempt if it was journalled, whatever its task has left", async () => {
    const shrinks: Handler = async (_, task) => {
      await task.sleep("nap", 10 * minute);
      return text("slept");
    };
    const tools = { shrinks: { config: { park: false }, handler: shrinks } };
    const first = await Process.started({ tools, options: { ttlMs: 10 * minute } });
    const id = await first.callId("shrinks");
    await first.until(id, ({ task }) => task.waiting);
    const second = await first.crash({ tools, options: { ttlMs: minute } });
    await second.until(id, ({ task }) => task.waiting && task.attempt === 2);
    expect((await second.get(id)).task.state).toBe("running");
  });
});
