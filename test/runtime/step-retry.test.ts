import { describe, expect, it } from "vitest";
import { NonRetryableError } from "../../src/runtime/tool/tool-errors.ts";
import type { StepOptions } from "../../src/runtime/tool/task-context.ts";
import { rest } from "../../src/testing/clocks.ts";
import { bodyOf, Process, text, type Handler, type Setup } from "./harness.ts";
import { SlotGauge } from "./slot-gauge.ts";

/** A tool of one step that throws what `failures` says, one after the other, and then returns how often it was run. */
function flaky(options: StepOptions, failures: readonly unknown[], seen: number[] = []): Handler {
  return async (_, task) => {
    const runs = await task.step("get", options, () => {
      const { length } = seen;
      seen.push(length);
      if (length < failures.length) throw failures[length];
      return length + 1;
    });
    return text(`after ${runs}`);
  };
}

const busy = new Error("busy");

async function started(handler: Handler): Promise<{ process: Process; id: string }> {
  const process = await Process.started({ tools: { flaky: handler } });
  return { process, id: await process.callId("flaky") };
}

function failedWith(message: string): object {
  return { isError: true, content: [{ type: "text", text: message }] };
}

describe("a step that is retried", () => {
  it("pauses as its backoff says, of which half at most is taken off", async () => {
    const backoff = { firstMs: 100, factor: 3, maxMs: 500 };
    const seen: number[] = [];
    const { process, id } = await started(
      flaky(
        { retries: 3, backoff },
        Array.from({ length: 3 }, () => busy),
        seen,
      ),
    );
    await process.journalHas(id, "get");
    for (const [index, ms] of [100, 300, 500].entries()) {
      const entry = await process.store.journalEntry(id, "get");
      expect(entry?.tries).toBe(index + 1);
      const pause = (entry?.deadlineAt ?? 0) - process.clock.now();
      expect(pause).toBeGreaterThanOrEqual(ms / 2);
      expect(pause).toBeLessThanOrEqual(ms);
      await process.clock.advance(pause - 1);
      expect(seen).toHaveLength(index + 1);
      await process.clock.advance(1);
      expect(seen).toHaveLength(index + 2);
    }
    expect(bodyOf(await process.ended(id))).toEqual(text("after 4"));
  });

  it("is not run again after what retryIf refuses", async () => {
    const retryIf = (error: unknown): boolean => error === busy;
    const failures = [busy, new Error("gone"), busy];
    const { process, id } = await started(flaky({ retries: 9, retryIf }, failures));
    await process.clock.advance(60_000);
    expect(bodyOf(await process.ended(id))).toEqual(failedWith("gone"));
  });

  it("is not run again where retryIf throws, which is reported", async () => {
    const mistake = new TypeError("no code");
    const retryIf = (): boolean => {
      throw mistake;
    };
    const { process, id } = await started(flaky({ retries: 9, retryIf }, [busy]));
    expect(bodyOf(await process.ended(id))).toEqual(failedWith("busy"));
    expect(process.errors).toEqual([mistake]);
  });

  it("is not run again where retryIf would have to be waited for, which is reported", async () => {
    const rule: unknown = async () => Promise.reject(new Error("away"));
    const retryIf = rule as () => boolean;
    const { process, id } = await started(flaky({ retries: 9, retryIf }, [busy]));
    expect(bodyOf(await process.ended(id))).toEqual(failedWith("busy"));
    expect(process.errors).toEqual([expect.objectContaining({ name: "TypeError" })]);
  });

  it.each([
    ["of this class", new NonRetryableError("gone")],
    ["of a class of its own", new (class Gone extends NonRetryableError {})("gone")],
    ["of another copy of it", Object.assign(new Error("gone"), { name: "NonRetryableError" })],
  ])("is not run again after a NonRetryableError %s, which a replay throws again", async (_, error) => {
    const thrown: unknown[] = [];
    const handler: Handler = async (_args, task) => {
      await task
        .step("get", { retries: 9 }, () => Promise.reject(error))
        .catch((e: unknown) => thrown.push(e));
      await task.sleep("nap", 60_000);
      return text("caught");
    };
    const process = await Process.started({ tools: { final: handler }, options: { maxParkedFrames: 0 } });
    const id = await process.callId("final");
    await process.clock.advance(60_000);
    expect(bodyOf(await process.ended(id))).toEqual(text("caught"));
    expect(thrown).toHaveLength(2);
    for (const one of thrown) {
      expect(one).toBeInstanceOf(NonRetryableError);
      expect(one).toMatchObject({ name: "NonRetryableError", message: "gone" });
    }
  });
});

it.each<[StepOptions, string]>([
  [{ retries: -1 }, "retries must be a whole number of at least 0, or Infinity"],
  [{ retries: 1.5 }, "retries must be a whole number of at least 0, or Infinity"],
  [
    { timeoutMs: Number.NaN },
    'timeoutMs must be a length of time, in milliseconds or such as "3d", not NaN.',
  ],
  [
    { backoff: { firstMs: -1 } },
    'backoff.firstMs must be a length of time, in milliseconds or such as "3d", not -1.',
  ],
  [{ backoff: { factor: 0.5 } }, "backoff.factor must be a number of at least 1, not 0.5."],
  [{ backoff: { firstMs: 10, maxMs: 5 } }, "maxMs is 5, which is less than firstMs (10)"],
  [{ backoff: { first: 10 } as never }, "Did you mean firstMs?"],
  [{ backoff: 5 as never }, "backoff takes its options as an object, not 5."],
  [{ retryIf: true as never }, "retryIf must be a function"],
  [{ retrys: 1 } as never, "Did you mean retries?"],
])("refuses %j, and says why", async (options, message) => {
  const { process, id } = await started(flaky(options, []));
  expect(bodyOf(await process.ended(id))).toMatchObject({ message: expect.stringContaining(message) });
});

describe("the pause before another try", () => {
  const backoff = { firstMs: 10_000 };
  const entryOf = (process: Process, id: string) => process.store.journalEntry(id, "get");

  it("is in the journal, takes no slot, and ends the wait of no one else", async () => {
    const gauge = new SlotGauge();
    const handler = flaky({ retries: 1, backoff }, [busy]);
    const tools = { flaky: handler, gauge: gauge.handler };
    const process = await Process.started({ tools, options: { concurrency: 1 } });
    const id = await process.callId("flaky");
    await process.journalHas(id, "get");
    expect(await entryOf(process, id)).toMatchObject({ kind: "step", tries: 1, doneAt: null });
    const { task } = await process.get(id);
    expect(task).toMatchObject({ state: "running", waiting: true });
    expect(task.runAfter).toBe((await entryOf(process, id))?.deadlineAt);
    expect(await gauge.free(process)).toBe(1);
    await process.clock.advance(10_000);
    expect(bodyOf(await process.ended(id))).toEqual(text("after 2"));
    expect(await entryOf(process, id)).toMatchObject({ tries: 1, value: "2", error: null });
  });

  it.each([0, 100])("parks the task with %i frames kept, and goes on in time", async (maxParkedFrames) => {
    const seen: number[] = [];
    const handler = flaky({ retries: 2, backoff }, [busy, busy], seen);
    const process = await Process.started({ tools: { flaky: handler }, options: { maxParkedFrames } });
    const id = await process.callId("flaky");
    await process.until(id, ({ task }) => task.waiting);
    expect((await process.get(id)).task.state).toBe(maxParkedFrames === 0 ? "queued" : "running");
    await process.clock.advance(4_999);
    expect(seen).toHaveLength(1);
    await process.clock.advance(5_001);
    expect(seen).toHaveLength(2);
    await process.clock.advance(20_000);
    expect(bodyOf(await process.ended(id))).toEqual(text("after 3"));
  });

  it.each(["crash", "restart"] as const)(
    "goes on in the next process after a %s, with the tries that are left",
    async (end) => {
      const seen: number[] = [];
      const failures = Array.from({ length: 9 }, () => busy);
      const setup = { tools: { flaky: flaky({ retries: 2, backoff }, failures, seen) } };
      let process = await Process.started(setup);
      const id = await process.callId("flaky");
      await process.until(id, ({ task }) => task.waiting);
      process = await process[end](setup);
      await process.clock.advance(4_999);
      expect(seen).toHaveLength(1);
      await process.clock.advance(5_001);
      await process.until(id, ({ task }) => task.waiting);
      process = await process[end](setup);
      await process.clock.advance(20_000);
      expect(bodyOf(await process.ended(id))).toEqual(failedWith("busy"));
      expect(seen).toHaveLength(3);
      expect(process.errors).toEqual([]);
    },
  );

  it("is journalled where the server stops while the step runs", async () => {
    const gate = Promise.withResolvers<void>();
    let runs = 0;
    const setup: Setup = {
      tools: {
        flaky: async (_, task) => {
          const run = await task.step("get", { retries: 1, backoff }, async () => {
            if (runs++ > 0) return runs;
            await gate.promise;
            throw busy;
          });
          return text(`run ${run}`);
        },
      },
    };
    const process = await Process.started(setup);
    const id = await process.callId("flaky");
    await process.until(id, ({ task }) => task.journalled);
    const next = process.restart(setup);
    gate.resolve();
    const { store, clock } = await next;
    expect(await store.journalEntry(id, "get")).toMatchObject({ tries: 1, doneAt: null });
    await clock.advance(10_000);
    expect(bodyOf(await (await next).ended(id))).toEqual(text("run 2"));
  });

  it("does not begin where its task would end before: the step fails", async () => {
    const handler = flaky({ retries: 1, backoff }, [busy]);
    const process = await Process.started({ tools: { flaky: { config: { ttlMs: 4_000 }, handler } } });
    const id = await process.callId("flaky");
    expect(bodyOf(await process.ended(id))).toEqual(failedWith("busy"));
    expect(await entryOf(process, id)).toMatchObject({ tries: 0, error: expect.stringContaining("busy") });
  });

  it("ends with a cancel, of which the handler hears", async () => {
    const heard: unknown[] = [];
    const process = await Process.started({
      tools: {
        flaky: async (args, task) => {
          try {
            return await flaky({ retries: 1, backoff }, [busy])(args, task);
          } catch (error) {
            heard.push((error as Error).name);
            throw error;
          }
        },
      },
    });
    const id = await process.callId("flaky");
    await process.until(id, ({ task }) => task.waiting);
    await process.cancel(id);
    expect((await process.ended(id)).task.state).toBe("cancelled");
    expect(heard).toEqual(["AbortError"]);
  });

  it("begins anew where the handler is retried", async () => {
    let tries = 0;
    const handler: Handler = async (_, task) => {
      const step = task.step("get", { retries: 1, backoff: { firstMs: 60_000 } }, () => {
        tries++;
        throw busy;
      });
      if (task.attempt === 1) {
        while (tries === 0) await rest();
        throw new Error("late");
      }
      await step;
      return text("never");
    };
    const config = { retry: { attempts: 2 } };
    const process = await Process.started({ tools: { flaky: { config, handler } } });
    const id = await process.callId("flaky");
    await process.until(id, ({ task }) => task.failures === 1);
    expect(await entryOf(process, id)).toBeUndefined();
    await process.clock.advance(1_000);
    expect(await entryOf(process, id)).toMatchObject({ tries: 1 });
    await process.clock.advance(60_000);
    expect(bodyOf(await process.ended(id))).toEqual(failedWith("busy"));
    expect(tries).toBe(3);
  });

  it("passes in a direct run too", async () => {
    const process = await Process.started({ tools: { flaky: flaky({ retries: 1, backoff }, [busy]) } });
    const running = process.runInline("flaky");
    await process.clock.advance(10_000);
    expect(JSON.parse((await running).body)).toEqual(text("after 2"));
  });

  it("makes a task of a call that was to be answered directly", async () => {
    const config = { promoteAfterMs: 60_000 };
    const handler = flaky({ retries: 1, backoff }, [busy]);
    const process = await Process.started({ tools: { flaky: { config, handler } } });
    const call = { generation: "2026-07-28", tool: "flaky", arguments: {}, principal: null } as const;
    const { signal } = new AbortController();
    const end = await process.runtime.call({ ...call, origin: { capabilities: {} } }, signal);
    if (end.kind !== "task") throw new Error("It was answered directly.");
    await process.clock.advance(10_000);
    expect(bodyOf(await process.ended(end.snapshot.task.id))).toEqual(text("after 2"));
  });
});
