import { describe, expect, it, vi } from "vitest";
import { FakeClock } from "../../src/testing/clocks.ts";
import { anonymous, bodyOf, Process, text, type Handler } from "./harness.ts";
import { SlotGauge } from "./slot-gauge.ts";
import { storeFailed, type BeforeCall } from "./watched-store.ts";

const timeoutMs = 5_000;
const graceMs = 1_000;
const tooLong = {
  isError: true,
  content: [{ type: "text", text: "The attempt ran for more than 5000 ms without waiting." }],
};
const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };

async function start(handler: Handler, more: Record<string, Handler> = {}): Promise<Process> {
  return Process.started({
    tools: { limited: { config: { timeoutMs }, handler }, ...more },
    options: { concurrency: 1, cancelGraceMs: graceMs, maxParkedFrames: 0 },
  });
}

/** Does work of its own until its signal aborts, and then throws something else. */
const heedful: Handler = async (_, { signal }) => {
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  throw new Error("called off");
};

describe("an attempt that works for longer than timeoutMs", () => {
  it("ends with attempt_timeout, and tells its handler why", async () => {
    let reason: unknown;
    const process = await start((args, task) => {
      task.signal.addEventListener("abort", () => void (reason = task.signal.reason));
      return heedful(args, task);
    });
    const id = await process.callId("limited");
    await process.clock.advance(timeoutMs - 1);
    expect((await process.get(id)).task.state).toBe("running");
    await process.clock.advance(1);
    expect(bodyOf(await process.ended(id))).toEqual(tooLong);
    expect(reason).toMatchObject({ code: "attempt_timeout" });
    await process.clock.advance(60_000);
    expect(process.errors).toEqual([]);
  });

  it("ends where its handler heeds no signal, which counts as leaked after a grace", async () => {
    const gate = Promise.withResolvers<void>();
    const gauge = new SlotGauge();
    const deaf: Handler = async () => (await gate.promise, text("too late"));
    const process = await start(deaf, { gauge: gauge.handler });
    const id = await process.callId("limited");
    await process.clock.advance(timeoutMs);
    expect(bodyOf(await process.ended(id))).toEqual(tooLong);
    expect(await gauge.free(process)).toBe(1);
    await process.clock.advance(graceMs - 1);
    expect(process.errors).toEqual([]);
    await process.clock.advance(1);
    expect(process.errors).toEqual([expect.objectContaining({ code: "handler_leaked" })]);
    gate.resolve();
    await process.clock.advance(60_000);
    expect(bodyOf(await process.get(id))).toEqual(tooLong);
    expect(await gauge.free(process)).toBe(1);
  });

  it("is no step that was not awaited, where the step heeds its signal", async () => {
    const process = await start((_, task) =>
      task.step("wait", ({ signal }) => {
        const { promise, reject } = Promise.withResolvers<never>();
        signal.addEventListener("abort", () => reject(signal.reason as Error));
        return promise;
      }),
    );
    const id = await process.callId("limited");
    await process.clock.advance(timeoutMs);
    expect(bodyOf(await process.ended(id))).toEqual(tooLong);
    await process.clock.advance(60_000);
    expect(process.errors).toEqual([]);
  });

  it("lets its step end, and journals nothing more", async () => {
    let began = 0;
    const process = await start(async (_, task) => {
      await task.step("first", async () => {
        began++;
        await new Promise<void>((resolve) => task.signal.addEventListener("abort", () => resolve()));
      });
      await task.step("second", () => void began++);
      return text("done");
    });
    const id = await process.callId("limited");
    await process.clock.advance(timeoutMs);
    expect(bodyOf(await process.ended(id))).toEqual(tooLong);
    expect(began).toBe(1);
    expect(await process.store.journalEntry(id, "second")).toBeUndefined();
  });

  it("ends as cancelled where that was asked for before", async () => {
    const process = await start(async (_, { signal }) => {
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      await new Promise(() => undefined);
      return text("never");
    });
    const id = await process.callId("limited");
    await process.clock.advance(timeoutMs - 1);
    await process.cancel(id);
    await process.clock.advance(graceMs);
    expect((await process.ended(id)).task.state).toBe("cancelled");
  });

  it.each(["never", "perhaps"])(
    "says why to what reports later, of a run that is %s to be a task",
    async (how) => {
      const late = Promise.withResolvers<unknown>();
      const gate = Promise.withResolvers<void>();
      const deaf: Handler = async (_, task) => {
        await gate.promise;
        task.log("info", "late").then(late.resolve, late.resolve);
        return text("too late");
      };
      const tools = { limited: { config: { timeoutMs, promoteAfterMs: 60_000 }, handler: deaf } };
      const process = await Process.started({ tools });
      const call = { generation: "2026-07-28", tool: "limited", arguments: {}, principal: null } as const;
      const running =
        how === "never"
          ? process.runInline("limited")
          : process.runtime.call({ ...call, origin: { capabilities: {} } }, new AbortController().signal);
      await process.clock.advance(timeoutMs);
      await running;
      gate.resolve();
      expect(await late.promise).toMatchObject({ code: "attempt_timeout" });
    },
  );

  it("ends in a direct run too", async () => {
    const process = await start(heedful);
    const running = process.runInline("limited");
    await process.clock.advance(timeoutMs);
    const outcome = await running;
    expect(JSON.parse(outcome.body)).toEqual(tooLong);
  });

  it("asks nothing more in a direct run", async () => {
    const gate = Promise.withResolvers<void>();
    const deaf: Handler = async (_, task) => {
      await gate.promise;
      await task.elicit("late", question);
      return text("too late");
    };
    const process = await start(deaf);
    const tool = process.runtime.registry.get("limited");
    if (tool === undefined) throw new Error("no tool");
    let asked = 0;
    const ask = async (): Promise<unknown> => ({ action: "decline", asked: ++asked });
    const { signal } = new AbortController();
    const running = process.runtime.runInline({ tool, arguments: {}, signal, ask, caller: anonymous });
    await process.clock.advance(timeoutMs);
    expect(JSON.parse((await running).body)).toEqual(tooLong);
    gate.resolve();
    await process.clock.advance(timeoutMs);
    expect(asked).toBe(0);
  });

  it("ends in a run that was to become a task", async () => {
    const config = { timeoutMs, promoteAfterMs: 60_000 };
    const process = await Process.started({ tools: { limited: { config, handler: heedful } } });
    const origin = { capabilities: {} };
    const call = {
      generation: "2026-07-28",
      tool: "limited",
      arguments: {},
      principal: null,
      origin,
    } as const;
    const answered = process.runtime.call(call, new AbortController().signal);
    await process.clock.advance(timeoutMs);
    const end = await answered;
    expect(end.kind === "outcome" && JSON.parse(end.outcome.body)).toEqual(tooLong);
    expect(process.errors).toEqual([]);
  });
});

describe("a call that may become a task", () => {
  const { signal } = new AbortController();

  /** What the call is answered with once `ms` are over. */
  async function answered(process: Process, ms: number) {
    const call = { generation: "2026-07-28", tool: "limited", arguments: {}, principal: null } as const;
    const answer = process.runtime.call({ ...call, origin: { capabilities: {} } }, signal);
    await process.clock.advance(ms);
    return answer;
  }

  it("has the same time as a task that it had before", async () => {
    const config = { timeoutMs, promoteAfterMs: 1_000 };
    const process = await Process.started({ tools: { limited: { config, handler: heedful } } });
    const end = await answered(process, 1_000);
    if (end.kind !== "task") throw new Error("It was answered directly.");
    await process.clock.advance(timeoutMs - 1_001);
    expect((await process.get(end.snapshot.task.id)).task.state).toBe("running");
    await process.clock.advance(1);
    expect(bodyOf(await process.ended(end.snapshot.task.id))).toEqual(tooLong);
  });

  it("is answered where its handler goes on, which counts as leaked after a grace", async () => {
    const gate = Promise.withResolvers<void>();
    const config = { timeoutMs, promoteAfterMs: 60_000 };
    const handler: Handler = async () => (await gate.promise, text("too late"));
    const options = { cancelGraceMs: graceMs };
    const process = await Process.started({ tools: { limited: { config, handler } }, options });
    expect((await answered(process, timeoutMs)).kind).toBe("outcome");
    expect(process.errors).toEqual([]);
    await process.clock.advance(graceMs);
    expect(process.errors).toEqual([expect.objectContaining({ code: "handler_leaked" })]);
    gate.resolve();
    await process.clock.advance(60_000);
    expect(process.errors).toHaveLength(1);
  });
});

describe("waits", () => {
  const stretchMs = timeoutMs - 1;

  /** Works almost too long before, between and after its waits. */
  const patient = (clock: FakeClock): Handler => {
    const work = (): Promise<void> =>
      new Promise((resolve) => {
        clock.after(stretchMs, resolve);
      });
    return async (_, task) => {
      await task.step("work", work);
      await task.sleep("nap", 3_600_000);
      await task.step("more", work);
      await task.elicit("q", question);
      await task.step("most", work);
      return text("done");
    };
  };

  it.each([
    ["keeps its frame", 10_000],
    ["is dropped", 0],
  ])("do not count, and begin the time anew, for a handler that %s", async (_, maxParkedFrames) => {
    const clock = new FakeClock();
    const setup = {
      tools: { limited: { config: { timeoutMs }, handler: patient(clock) } },
      options: { maxParkedFrames },
    };
    const process = new Process(setup, clock);
    await process.runtime.start();
    const id = await process.callId("limited");
    await clock.advance(stretchMs);
    await clock.advance(3_600_000);
    await clock.advance(stretchMs);
    await process.asked(id);
    await clock.advance(3_600_000);
    await process.answer(id, "q", { action: "decline" });
    await clock.advance(stretchMs);
    expect(bodyOf(await process.ended(id))).toEqual(text("done"));
  });

  it("of a direct run do not count either", async () => {
    const clock = new FakeClock();
    const tools = { limited: { config: { timeoutMs }, handler: patient(clock) } };
    const process = new Process({ tools }, clock);
    await process.runtime.start();
    const tool = process.runtime.registry.get("limited");
    if (tool === undefined) throw new Error("no tool");
    const ask = async (): Promise<unknown> => {
      await new Promise<void>((resolve) => {
        clock.after(3_600_000, resolve);
      });
      return { action: "decline" };
    };
    const { signal } = new AbortController();
    const running = process.runtime.runInline({ tool, arguments: {}, signal, ask, caller: anonymous });
    for (const ms of [stretchMs, 3_600_000, stretchMs, 3_600_000, stretchMs]) await clock.advance(ms);
    expect(JSON.parse((await running).body)).toEqual(text("done"));
  });

  it("do not count beside a step only as long as that runs", async () => {
    const process = await start(async (_, task) => {
      const nap = task.sleep("nap", 60_000);
      await task.step("work", ({ signal }) => {
        return new Promise<void>((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason as Error)),
        );
      });
      await nap;
      return text("never");
    });
    const id = await process.callId("limited");
    await process.clock.advance(timeoutMs);
    expect(bodyOf(await process.ended(id))).toEqual(tooLong);
  });
});

it("does not count the time in which the store fails", async () => {
  let fails = true;
  const before: BeforeCall = (call) => {
    if (call === "record_step" && fails) throw storeFailed();
  };
  const handler: Handler = async (_, task) => {
    await task.step("s", () => 1);
    await new Promise<void>((resolve) => process.clock.after(timeoutMs - 1, resolve));
    return text("done");
  };
  const process = await Process.started({ tools: { limited: { config: { timeoutMs }, handler } }, before });
  const id = await process.callId("limited");
  await process.clock.advance(10 * timeoutMs);
  fails = false;
  const isRecorded = async (): Promise<boolean> => {
    await process.clock.advance(1_000);
    return (await process.store.journalEntry(id, "s")) !== undefined;
  };
  await vi.waitUntil(isRecorded, { timeout: 30_000 });
  await process.clock.advance(timeoutMs);
  expect(bodyOf(await process.ended(id))).toEqual(text("done"));
});

it("leaves tools without a limit alone", async () => {
  const gate = Promise.withResolvers<void>();
  const process = await start(heedful, { free: async () => (await gate.promise, text("done")) });
  const id = await process.callId("free");
  await process.clock.advance(24 * 3_600_000);
  gate.resolve();
  expect(bodyOf(await process.ended(id))).toEqual(text("done"));
});

it.each([0, 1.5, -1, Number.NaN, "1" as never, null as never])("refuses a timeoutMs of %j", (wrong) => {
  const config = { timeoutMs: wrong };
  const make = (): Process => new Process({ tools: { limited: { config, handler: heedful } } });
  expect(make).toThrow(
    'Tool "limited": timeoutMs must be a length of time above 0, in milliseconds or such as "3d", not ',
  );
});
