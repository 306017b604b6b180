import { ProtocolError } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { HoldfastError } from "../../src/task/fault.ts";
import { NonRetryableError } from "../../src/runtime/tool/tool-errors.ts";
import type { ToolConfig } from "../../src/runtime/tool/tool.ts";
import type { RetryPolicy } from "../../src/runtime/tool/tool-options.ts";
import { bodyOf, nobody, Process, text, type Handler, type Setup } from "./harness.ts";
import { SlotGauge } from "./slot-gauge.ts";
import { storeFailed, type BeforeCall } from "./watched-store.ts";

const graceMs = 1_000;
const longestMs = 60_000;
const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };

function failedWith(message: string): object {
  return { isError: true, content: [{ type: "text", text: message }] };
}

function setupOf(handler: Handler, retry: RetryPolicy = { attempts: 3 }, more?: Partial<ToolConfig>): Setup {
  return {
    tools: { flaky: { config: { retry, ...more } as ToolConfig<undefined>, handler } },
    options: { cancelGraceMs: graceMs, maxParkedFrames: 0 },
  };
}

async function started(...setup: Parameters<typeof setupOf>): Promise<{ process: Process; id: string }> {
  const process = await Process.started(setupOf(...setup));
  return { process, id: await process.callId("flaky") };
}

/** Throws so often, and then returns how often it was run. */
function failing(times: number, error: unknown = new Error("busy")): Handler {
  let runs = 0;
  return () => {
    if (runs++ < times) throw error;
    return text(`run ${runs}`);
  };
}

describe("a handler that throws", () => {
  it("runs again after a pause, which clients see", async () => {
    const { process, id } = await started(failing(2));
    const paused = await process.until(id, ({ task }) => task.state === "queued");
    expect(paused.task).toMatchObject({
      statusMessage: "Attempt 1 of 3 failed: busy",
      failures: 1,
      owner: null,
      waiting: false,
    });
    expect(paused.task.runAfter).toBeGreaterThanOrEqual(process.clock.now() + 500);
    await process.clock.advance(1_000);
    expect((await process.get(id)).task.statusMessage).toBe("Attempt 2 of 3 failed: busy");
    await process.clock.advance(2_000);
    expect(bodyOf(await process.ended(id))).toEqual(text("run 3"));
    expect(process.errors).toEqual([]);
  });

  it("is an attempt that clients see, until it says something itself", async () => {
    const gate = Promise.withResolvers<void>();
    let runs = 0;
    const { process, id } = await started(async (_, task) => {
      if (runs++ === 0) throw new Error("busy");
      await gate.promise;
      await task.status("nearly done");
      await task.elicit("q", question);
      return text("done");
    });
    await process.clock.advance(1_000);
    expect((await process.get(id)).task.statusMessage).toBe("Attempt 2 of 3");
    gate.resolve();
    await process.asked(id);
    expect((await process.get(id)).task.statusMessage).toBe("nearly done");
    await process.answer(id, "q", { action: "decline" });
    expect((await process.ended(id)).task.statusMessage).toBeNull();
  });

  it("ends its task after the last attempt", async () => {
    const { process, id } = await started(failing(3));
    await process.clock.advance(longestMs);
    const ended = await process.ended(id);
    expect(bodyOf(ended)).toEqual(failedWith("busy"));
    const statusMessage = "Attempt 3 of 3 failed: busy";
    expect(ended.task).toMatchObject({ attempt: 3, failures: 2, statusMessage });
    expect(ended.task.attempts.at(-1)).toMatchObject({ end: "failed", error: statusMessage });
  });

  it("ends its task at once without a policy", async () => {
    const process = await Process.started({ tools: { flaky: failing(1) } });
    expect(bodyOf(await process.ended(await process.callId("flaky")))).toEqual(failedWith("busy"));
  });

  it.each<[string, unknown, object]>([
    ["a NonRetryableError", new NonRetryableError("gone"), failedWith("gone")],
    ["a protocol error", new ProtocolError(-32001, "no"), { code: -32001, message: "no" }],
    ["a wait that failed", new HoldfastError("event_timeout", "late"), failedWith("late")],
    ["a mistake", new HoldfastError("duplicate_key", "twice"), { code: -32603, message: "twice" }],
  ])("ends its task at once with %s", async (_, error, body) => {
    const { process, id } = await started(failing(1, error));
    expect(bodyOf(await process.ended(id))).toEqual(body);
  });

  it("ends its task at once with a NonRetryableError that a step threw in an earlier attempt", async () => {
    const { process, id } = await started(async (_, task) => {
      const step = task.step("get", { retries: 5 }, () => {
        throw new NonRetryableError("gone");
      });
      await step.catch(() => undefined);
      await task.sleep("nap", longestMs);
      await step;
      return text("never");
    });
    await process.clock.advance(longestMs);
    const ended = await process.ended(id);
    expect(bodyOf(ended)).toEqual(failedWith("gone"));
    expect(ended.task).toMatchObject({ attempt: 2, failures: 0 });
  });

  it("runs again after what `on` allows", async () => {
    const retry = { attempts: 9, on: (error: unknown) => (error as Error).message === "busy" };
    let runs = 0;
    const { process, id } = await started(() => {
      throw new Error(runs++ === 0 ? "busy" : "gone");
    }, retry);
    await process.clock.advance(longestMs);
    expect(bodyOf(await process.ended(id))).toEqual(failedWith("gone"));
    expect(runs).toBe(2);
  });

  it("ends its task where `on` throws, which is reported", async () => {
    const mistake = new TypeError("no code");
    const on = (): boolean => {
      throw mistake;
    };
    const { process, id } = await started(failing(1), { attempts: 9, on });
    expect(bodyOf(await process.ended(id))).toEqual(failedWith("busy"));
    expect(process.errors).toEqual([mistake]);
  });

  it("ends its task where that would end before the next attempt", async () => {
    const process = await Process.started(setupOf(failing(1), { attempts: 3 }, { ttlMs: 400 }));
    expect(bodyOf(await process.ended(await process.callId("flaky")))).toEqual(failedWith("busy"));
  });

  it("is not what its prepare is", async () => {
    let prepared = 0;
    const prepare = async (): Promise<never> => {
      prepared++;
      throw new Error("declined");
    };
    const process = await Process.started(setupOf(failing(0), { attempts: 3 }, { prepare }));
    const id = await process.callId("flaky", { prepareInTask: true });
    expect(bodyOf(await process.ended(id))).toEqual(failedWith("declined"));
    expect(prepared).toBe(1);
  });

  it("is not what a result with isError is", async () => {
    let runs = 0;
    const { process, id } = await started(() => ({ ...text(`run ${++runs}`), isError: true }));
    expect(bodyOf(await process.ended(id))).toEqual(failedWith("run 1"));
  });

  it.each([
    [
      "a value that throws whatever is done with it",
      new Proxy({}, { getPrototypeOf: () => null, get: boom }),
    ],
    ["nothing", undefined],
    ["a long text", "x".repeat(100_000)],
  ])("runs again after %s", async (_, thrown) => {
    const { process, id } = await started(failing(1, thrown));
    const { task } = await process.until(id, ({ task: { state } }) => state === "queued");
    expect(task.statusMessage).toMatch(/^Attempt 1 of 3 failed: /);
    expect(task.statusMessage?.length).toBeLessThan(300);
    await process.clock.advance(1_000);
    expect(bodyOf(await process.ended(id))).toEqual(text("run 2"));
  });

  it("gives its slot back during the pause", async () => {
    const gauge = new SlotGauge();
    const { tools, options } = setupOf(failing(1));
    const process = await Process.started({
      tools: { ...tools, gauge: gauge.handler },
      options: { ...options, concurrency: 1 },
    });
    const id = await process.callId("flaky");
    expect(await gauge.free(process)).toBe(1);
    await process.clock.advance(1_000);
    expect(bodyOf(await process.ended(id))).toEqual(text("run 2"));
    expect(await gauge.free(process)).toBe(1);
  });
});

function boom(): never {
  throw new Error("boom");
}

describe("a further attempt", () => {
  it("keeps what succeeded, asks nothing again, and does again what failed", async () => {
    const did: string[] = [];
    let fails = true;
    const { process, id } = await started(async (_, task) => {
      await task.step("good", () => void did.push("good"));
      await task.elicit("q", question);
      await task.sleep("nap", 5_000);
      await task.step("bad", () => {
        did.push("bad");
        if (fails) throw new Error("busy");
      });
      return text(`attempt ${task.attempt}`);
    });
    await process.asked(id);
    await process.answer(id, "q", { action: "decline" });
    await process.clock.advance(5_000);
    await process.until(id, ({ task }) => task.failures === 1);
    expect(await process.store.journalEntry(id, "bad")).toBeUndefined();
    expect(await process.store.journalEntry(id, "good")).toBeDefined();
    fails = false;
    await process.clock.advance(1_000);
    expect((await process.ended(id)).task.failures).toBe(1);
    expect(did).toEqual(["good", "bad", "bad"]);
  });

  it("gets the answer that came during the pause to a question that was open", async () => {
    const gate = Promise.withResolvers<void>();
    let runs = 0;
    const { process, id } = await started(async (_, task) => {
      const first = runs++ === 0;
      const asked = task.elicit("q", question);
      const [, { action }] = await Promise.all([
        task.step("work", async () => {
          await gate.promise;
          if (first) throw new Error("busy");
        }),
        asked,
      ]);
      return text(action);
    });
    await process.asked(id);
    gate.resolve();
    const paused = await process.until(id, ({ task }) => task.failures === 1);
    expect(paused.inputs).toHaveLength(1);
    await process.answer(id, "q", { action: "decline" });
    expect((await process.get(id)).task).toMatchObject({ state: "queued", lane: null, openInputs: 0 });
    await process.clock.advance(1_000);
    expect(bodyOf(await process.ended(id))).toEqual(text("decline"));
  });

  it("does not come to a task that others have ended, and its policy is not asked", async () => {
    let asked = 0;
    const on = (): boolean => ++asked > 0;
    const { process, id } = await started(
      async (_, { signal }) => {
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        throw new Error("busy");
      },
      { attempts: 3, on },
    );
    await process.until(id, ({ task }) => task.state === "running");
    await process.runtime.cancelNow(id, nobody);
    await process.clock.advance(longestMs);
    expect((await process.get(id)).task).toMatchObject({ state: "cancelled", failures: 0, attempt: 1 });
    expect(asked).toBe(0);
    expect(process.errors).toEqual([]);
  });

  it("has the credentials of the call", async () => {
    let runs = 0;
    const process = await Process.started(
      setupOf(async (_, task) => {
        if (runs++ === 0) throw new Error("busy");
        return text(String(await task.credentials()));
      }),
    );
    const id = await process.callId("flaky", { credentials: "secret" });
    await process.clock.advance(1_000);
    expect(bodyOf(await process.ended(id))).toEqual(text("secret"));
  });

  it("comes in the next process, where this one stops or dies during the pause", async () => {
    for (const end of ["restart", "crash"] as const) {
      const setup = setupOf(failing(1));
      const process = await Process.started(setup);
      const id = await process.callId("flaky");
      await process.until(id, ({ task }) => task.failures === 1);
      const next = await process[end](setup);
      expect((await next.get(id)).task.attempt).toBe(1);
      await next.clock.advance(1_000);
      expect(bodyOf(await next.ended(id))).toEqual(text("run 2"));
    }
  });

  it("comes after a crash of a handler that had journalled nothing", async () => {
    let runs = 0;
    const setup = setupOf(async () => {
      if (runs++ === 0) await new Promise(() => undefined);
      return text(`run ${runs}`);
    });
    const process = await Process.started(setup);
    const id = await process.callId("flaky");
    await process.until(id, ({ task }) => task.state === "running");
    const next = await process.crash(setup);
    expect(bodyOf(await next.ended(id))).toEqual(text("run 2"));
  });
});

describe("what still goes on of a handler that threw", () => {
  const patient = { attempts: 2, backoff: { firstMs: 10_000 } };

  it("is called off, and what its steps return is kept", async () => {
    const gate = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const did: string[] = [];
    let runs = 0;
    const { process, id } = await started(async (_, task) => {
      const first = runs++ === 0;
      const slow = task.step("slow", async ({ signal }) => {
        did.push("slow");
        signal.addEventListener("abort", () => did.push("told"));
        begun.resolve();
        await gate.promise;
        return runs;
      });
      await begun.promise;
      if (first) throw new Error("busy");
      return text(`slow: run ${await slow}`);
    }, patient);
    await process.clock.advance(graceMs - 1);
    expect((await process.get(id)).task.state).toBe("running");
    expect(did).toEqual(["slow", "told"]);
    gate.resolve();
    await process.until(id, ({ task }) => task.state === "queued");
    await process.clock.advance(10_000);
    expect(bodyOf(await process.ended(id))).toEqual(text("slow: run 1"));
    expect(did).toEqual(["slow", "told"]);
  });

  it("is kept where the store fails for longer than the grace", async () => {
    let fails = true;
    const before: BeforeCall = (call) => {
      if (call === "record_step" && fails) throw storeFailed();
    };
    let runs = 0;
    let threw = false;
    const setup = setupOf(async (_, task) => {
      const begun = Promise.withResolvers<void>();
      const slow = task.step("slow", () => (begun.resolve(), ++runs));
      if (!threw) {
        threw = true;
        await begun.promise;
        throw new Error("busy");
      }
      return text(`slow: run ${await slow}`);
    }, patient);
    const process = await Process.started({ ...setup, before });
    const id = await process.callId("flaky");
    await process.clock.advance(2 * graceMs);
    fails = false;
    await process.clock.advance(longestMs);
    expect(bodyOf(await process.ended(id))).toEqual(text("slow: run 1"));
    const codes = new Set(process.errors.map((error) => (error as HoldfastError).code));
    expect([...codes]).toEqual(["store_failed"]);
  });

  it("holds the next attempt up for no longer than the grace, and counts as leaked then", async () => {
    const gate = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    let runs = 0;
    const { process, id } = await started(async (_, task) => {
      if (runs++ > 0) return text("done");
      void task.step("deaf", () => (begun.resolve(), gate.promise));
      await begun.promise;
      throw new Error("busy");
    }, patient);
    await process.clock.advance(graceMs);
    await process.until(id, ({ task }) => task.state === "queued");
    expect(process.errors).toEqual([expect.objectContaining({ code: "handler_leaked" })]);
    await process.clock.advance(10_000);
    expect(bodyOf(await process.ended(id))).toEqual(text("done"));
    gate.resolve();
    await process.clock.advance(longestMs);
    expect(process.errors).toHaveLength(1);
  });

  it("can begin nothing more", async () => {
    const begun: unknown[] = [];
    const gate = Promise.withResolvers<void>();
    let runs = 0;
    const { process, id } = await started(async (_, task) => {
      if (runs++ > 0) return text("done");
      const late = async (): Promise<void> => {
        await gate.promise;
        await task.step("late", () => void begun.push("late"));
      };
      late().catch((error: unknown) => begun.push((error as HoldfastError).code));
      throw new Error("busy");
    });
    await process.until(id, ({ task }) => task.state === "queued");
    gate.resolve();
    await process.clock.advance(1_000);
    expect(bodyOf(await process.ended(id))).toEqual(text("done"));
    expect(begun).toEqual(["fenced"]);
  });
});

describe("an attempt that takes too long", () => {
  it("is retried, once its handler has ended or the grace is over", async () => {
    const gate = Promise.withResolvers<void>();
    let runs = 0;
    const handler: Handler = async () => {
      if (runs++ === 0) await gate.promise;
      return text(`run ${runs}`);
    };
    const { process, id } = await started(
      handler,
      { attempts: 2, backoff: { firstMs: 10_000 } },
      { timeoutMs: 5_000 },
    );
    await process.clock.advance(5_000);
    expect((await process.get(id)).task.state).toBe("running");
    await process.clock.advance(graceMs);
    expect((await process.get(id)).task).toMatchObject({
      state: "queued",
      statusMessage: "Attempt 1 of 2 failed: The attempt ran for more than 5000 ms without waiting.",
    });
    await process.clock.advance(10_000);
    expect(bodyOf(await process.ended(id))).toEqual(text("run 2"));
    gate.resolve();
  });
});

describe("a cancel", () => {
  it("during the pause tells the handler, where it had begun something", async () => {
    let told = false;
    let runs = 0;
    const { process, id } = await started(async (_, task) => {
      await task.step("hired", () => "bob");
      told = task.signal.aborted;
      if (runs++ === 0) throw new Error("busy");
      task.signal.throwIfAborted();
      return text("never");
    });
    await process.until(id, ({ task }) => task.failures === 1);
    await process.cancel(id);
    expect((await process.ended(id)).task.state).toBe("cancelled");
    await process.clock.advance(graceMs);
    expect(runs).toBe(2);
    expect(told).toBe(true);
  });

  it("that ends the task at once tells the handler too, where it had begun something", async () => {
    const told: boolean[] = [];
    const { process, id } = await started(async (_, task) => {
      await task.step("hired", () => "bob");
      told.push(task.signal.aborted);
      throw new Error("busy");
    });
    await process.until(id, ({ task }) => task.failures === 1);
    await process.runtime.cancelNow(id, nobody);
    await process.clock.advance(longestMs);
    expect(told).toEqual([false, true]);
    expect((await process.get(id)).task).toMatchObject({ state: "cancelled", failures: 1 });
  });

  it("during the pause ends the task at once, where it had not", async () => {
    const { process, id } = await started(failing(1));
    await process.until(id, ({ task }) => task.failures === 1);
    await process.cancel(id);
    expect((await process.ended(id)).task.state).toBe("cancelled");
  });

  it("before the throw ends the task", async () => {
    const { process, id } = await started(async (_, { signal }) => {
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      throw new Error("busy");
    });
    await process.until(id, ({ task }) => task.state === "running");
    await process.cancel(id);
    const { task } = await process.ended(id);
    expect(task).toMatchObject({ state: "cancelled", failures: 0 });
  });
});

it.each<[object, string]>([
  [{ retry: { attempts: 1 } }, "retry.attempts must be a whole number of at least 2, not 1."],
  [{ retry: {} }, 'Tool "flaky" needs retry.attempts: a whole number of at least 2.'],
  [{ retry: true }, "retry takes its options as an object"],
  [{ retry: { attempts: 2, tries: 3 } }, 'retry has no option "tries"'],
  [{ retry: { attempts: 2, on: "busy" } }, "retry.on must be a function"],
  [{ retry: { attempts: 2, backoff: { firstMs: -1 } } }, "retry.backoff.firstMs must be a length of time"],
  [{ retry: { attempts: 2 }, onCrash: "fail" }, 'onCrash: "fail" forbids'],
  [{ retry: { attempts: 2 }, task: "forbidden" }, 'with task: "forbidden" the tool runs without one'],
  [{ retry: { attempts: 2 }, promoteAfterMs: 5 }, "with promoteAfterMs the tool runs without one"],
])("refuses %j", (config, message) => {
  const make = (): Process => new Process({ tools: { flaky: { config, handler: failing(0) } } });
  expect(make).toThrow(message);
});
