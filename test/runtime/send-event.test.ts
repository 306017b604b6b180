import { describe, expect, it } from "vitest";
import { createTasks } from "../../src/server/tasks.ts";
import { memoryStore } from "../../src/store/sqlite/memory-store.ts";
import { HoldfastError } from "../../src/task/fault.ts";
import { rest } from "../../src/testing/clocks.ts";
import { bodyOf, Process, text, type Handler } from "./harness.ts";

const never = new Promise<never>(() => undefined);

/** Takes all events of the name that are there, when it is told to. */
function collects(gate: Promise<void>): Handler {
  return async (_, task) => {
    const values: unknown[] = [];
    await gate;
    try {
      for (let n = 0; ; n++) values.push(await task.waitForEvent(["take", n], "paid", { timeoutMs: 0 }));
    } catch {
      return text(JSON.stringify(values));
    }
  };
}

async function collecting(
  options = {},
): Promise<{ process: Process; id: string; collected: () => Promise<object> }> {
  const gate = Promise.withResolvers<void>();
  const process = await Process.started({ tools: { tool: collects(gate.promise) }, options });
  const id = await process.callId("tool");
  const collected = async (): Promise<object> => {
    gate.resolve();
    await process.clock.advance(0);
    return bodyOf(await process.ended(id));
  };
  return { process, id, collected };
}

async function codeOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => "resolved",
    (error: unknown) => (error instanceof HoldfastError ? error.code : String(error)),
  );
}

describe("an event that is sent again", () => {
  it("is known by its dedupeId, be it that it waits, or that a wait has taken it", async () => {
    const twice: Handler = async (_, task) => {
      const one = await task.waitForEvent("one", "paid");
      return text(JSON.stringify([one, await task.waitForEvent("two", "paid")]));
    };
    const process = await Process.started({ tools: { twice } });
    const id = await process.callId("twice");
    const send = (value: unknown, dedupeId?: string): Promise<boolean> =>
      process.runtime.sendEvent(id, { name: "paid", value, dedupeId });
    await process.until(id, ({ task }) => task.openWaits === 1);
    expect(await send(1, "d")).toBe(true);
    expect(await send(2, "d")).toBe(false);
    await process.journalHas(id, "two");
    expect(await send(3, "d")).toBe(false);
    expect((await process.get(id)).task.openWaits).toBe(1);
    expect(await send(4, "e")).toBe(true);
    expect(bodyOf(await process.ended(id))).toEqual(text("[1,4]"));
  });

  it("is known when a wait has taken it that began later", async () => {
    const gate = Promise.withResolvers<void>();
    const late: Handler = async (_, task) => {
      await gate.promise;
      const one = await task.waitForEvent("one", "paid");
      return text(JSON.stringify([one, await task.waitForEvent("two", "paid")]));
    };
    const process = await Process.started({ tools: { late } });
    const id = await process.callId("late");
    const send = (value: number, dedupeId: string): Promise<boolean> =>
      process.runtime.sendEvent(id, { name: "paid", value, dedupeId });
    expect(await send(1, "d")).toBe(true);
    gate.resolve();
    await process.journalHas(id, "two");
    expect(await send(2, "d")).toBe(false);
    expect(await send(3, "e")).toBe(true);
    expect(bodyOf(await process.ended(id))).toEqual(text("[1,3]"));
  });

  it("counts twice without one, and in another task", async () => {
    const { process, id, collected } = await collecting();
    for (const dedupeId of ["d", "d", undefined, undefined]) {
      await process.runtime.sendEvent(id, { name: "paid", value: dedupeId ?? "-", dedupeId });
    }
    const other = await process.callId("tool");
    expect(await process.runtime.sendEvent(other, { name: "paid", dedupeId: "d" })).toBe(true);
    expect(await collected()).toEqual(text('["d","-","-"]'));
  });

  it("is known after a crash", async () => {
    const hang: Handler = () => never;
    const setup = { tools: { hang: { config: { onCrash: "resume" as const }, handler: hang } } };
    const first = await Process.started(setup);
    const id = await first.callId("hang");
    const event = { name: "paid", value: 1, dedupeId: "d" };
    expect(await first.runtime.sendEvent(id, event)).toBe(true);
    const second = await first.crash(setup);
    expect(await second.runtime.sendEvent(id, event)).toBe(false);
  });

  it("counts once where it comes from two sides at the same time", async () => {
    const { process, id, collected } = await collecting();
    const event = { name: "paid", value: 1, dedupeId: "d" };
    const sent = await Promise.all([1, 2, 3].map(() => process.runtime.sendEvent(id, event)));
    expect(sent.filter(Boolean)).toHaveLength(1);
    expect(await collected()).toEqual(text("[1]"));
  });
});

describe("an event is refused", () => {
  it("beyond as many as may wait, until some are taken", async () => {
    const { process, id, collected } = await collecting({ maxEventsPerTask: 2 });
    const send = (value: number): Promise<boolean> =>
      process.runtime.sendEvent(id, { name: "paid", value, dedupeId: String(value) });
    await send(1);
    await send(2);
    await expect(send(3)).rejects.toThrow(
      expect.objectContaining({
        code: "limit_reached",
        message:
          "2 events are already waiting for this task, the most that maxEventsPerTask allows: its handler is not taking them.",
      }),
    );
    expect(await send(2)).toBe(false); // it is there
    expect(await collected()).toEqual(text("[1,2]"));
  });

  it("where its value is too large, or cannot be stored", async () => {
    const { process, id } = await collecting({ maxBodyBytes: 1_000 });
    const send = (value: unknown): Promise<unknown> =>
      codeOf(process.runtime.sendEvent(id, { name: "paid", value }));
    expect(await send("x".repeat(998))).toBe("resolved");
    expect(await send("x".repeat(999))).toBe("too_large");
    for (const value of [() => 1, { at: Symbol("s") }]) {
      expect(await send(value)).toBe("not_json");
    }
  });

  it("where there is no such task, or it has ended", async () => {
    const quick: Handler = () => text("quick");
    const hang: Handler = () => never;
    const process = await Process.started({
      tools: { quick, hang },
      options: { keepMs: 60_000, cancelGraceMs: 0 },
    });
    const send = (id: string): Promise<unknown> => codeOf(process.runtime.sendEvent(id, { name: "paid" }));
    expect(await send("nobody")).toBe("unknown_task");
    const done = await process.callId("quick");
    await process.ended(done);
    expect(await send(done)).toBe("finished");
    const cancelled = await process.callId("hang");
    await process.runtime.cancelNow(cancelled, { generation: "2026-07-28", principal: null });
    expect(await send(cancelled)).toBe("finished");
    process.clock.suspend(60_000); // no sweep has come to it
    expect(await send(done)).toBe("unknown_task");
  });

  it("where the time of the task is over, and no sweep has come to it", async () => {
    const hang: Handler = () => never;
    const process = await Process.started({ tools: { hang }, options: { ttlMs: 60_000 } });
    const id = await process.callId("hang");
    process.clock.suspend(60_000);
    expect(await codeOf(process.runtime.sendEvent(id, { name: "paid" }))).toBe("finished");
  });

  it("where it has no name to be found by", async () => {
    const { process, id } = await collecting();
    const send = (event: object): Promise<unknown> =>
      codeOf(process.runtime.sendEvent(id, { name: "paid", ...event }));
    expect(await send({ name: "" })).toContain("must be a non-empty string.");
    expect(await send({ name: 5 })).toContain("The name of an event must be a non-empty string, not number");
    expect(await send({ dedupeId: 5 })).toContain(
      "The dedupeId of an event must be a non-empty string, not number",
    );
    expect(await send({ name: "n".repeat(256) })).toBe("too_large");
    expect(await send({ dedupeId: "d".repeat(256) })).toBe("too_large");
    const withoutId = process.runtime.sendEvent(undefined as unknown as string, { name: "paid" });
    expect(await codeOf(withoutId)).toContain("The id of a task must be a string, not undefined");
  });
});

describe("tasks.sendEvent", () => {
  it("says what it needs", async () => {
    const tasks = createTasks({ store: memoryStore() });
    await expect(tasks.sendEvent("id", "paid")).rejects.toThrow("Call start() first.");
    await tasks.start();
    await expect(tasks.sendEvent("id", "paid")).rejects.toMatchObject({ code: "unknown_task" });
    const options = { dedupeID: "d" } as object;
    await expect(tasks.sendEvent("id", "paid", 1, options)).rejects.toThrow(
      'tasks.sendEvent has no option "dedupeID". Did you mean dedupeId?',
    );
    await tasks.stop();
    await expect(tasks.sendEvent("id", "paid")).rejects.toMatchObject({ code: "stopping" });
  });
});

it("an event of a task that the store cannot write to is refused, and can be sent again", async () => {
  let fails = true;
  const gate = Promise.withResolvers<void>();
  const process = await Process.started({
    tools: { tool: collects(gate.promise) },
    before: (call) => {
      if (fails && call === "send_event") throw new HoldfastError("store_failed", "The disk is full.");
    },
  });
  const id = await process.callId("tool");
  const send = (): Promise<unknown> => codeOf(process.runtime.sendEvent(id, { name: "paid", value: 1 }));
  expect(await send()).toBe("store_failed");
  fails = false;
  expect(await send()).toBe("resolved");
  gate.resolve();
  await rest();
  await process.clock.advance(0);
  expect(bodyOf(await process.ended(id))).toEqual(text("[1]"));
});
