import { describe, expect, it } from "vitest";
import { isTerminal } from "../../src/task/outcome.ts";
import { nobody, Process, text, type Handler } from "./harness.ts";
import { SlotGauge } from "./slot-gauge.ts";
import { Held } from "./watched-store.ts";

const never = new Promise<never>(() => undefined);
const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };

/** What a handler sees of its end: the reason of its signal, and what its call on the task rejected with. */
class Witness {
  readonly seen: unknown[] = [];
  readonly gate = Promise.withResolvers<void>();

  /** Makes one call on the task, then ignores that it was cancelled, and returns a result all the same. */
  around(call: Handler): Handler {
    return async (args, task) => {
      task.signal.addEventListener("abort", () => this.seen.push(task.signal.reason));
      try {
        await call(args, task);
      } catch (error) {
        this.seen.push(error);
      }
      await this.gate.promise;
      return text("late");
    };
  }
}

const abort = expect.objectContaining({ name: "AbortError", message: "The task was cancelled." }) as unknown;

const calls: readonly [where: string, call: Handler, expected: readonly unknown[]][] = [
  ["runs", async () => text("at once"), [abort]],
  ["waits for an answer", async (_, task) => text((await task.elicit("q", question)).action), [abort, abort]],
  ["sleeps", async (_, task) => (await task.sleep("s", 60_000), text("awake")), [abort, abort]],
  [
    "is in a step that heeds its signal",
    (_, task) =>
      task.step("s", ({ signal }) => {
        return new Promise<never>((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason as Error));
        });
      }),
    [abort, abort],
  ],
];

describe("a cancel that takes effect at once", () => {
  it.each(calls)(
    "ends a task that %s, tells its handler, and drops its result [C-079 C-080 C-081]",
    async (_, call, expected) => {
      const witness = new Witness();
      const gauge = new SlotGauge();
      const process = await Process.started({
        tools: { tool: witness.around(call), gauge: gauge.handler, next: () => text("hi") },
        options: { concurrency: 1 },
      });
      const id = await process.callId("tool");
      // Where the call journals something, it is there.
      await process.until(id, ({ task }) => task.state === "running");
      await process.clock.advance(1);
      const { task } = await process.runtime.cancelNow(id, nobody);
      const cancelled = { task, inputs: [], outcome: null };
      expect(task.state).toBe("cancelled");
      expect(task.cancelRequestedAt).not.toBeNull();
      expect(await process.get(id)).toEqual(cancelled);
      expect(witness.seen[0]).toEqual(abort);
      await process.clock.advance(1);
      expect(witness.seen).toEqual(expected);
      const next = await process.callId("next");
      await process.clock.advance(1);
      expect((await process.get(next)).task.state).toBe("queued");
      witness.gate.resolve();
      await process.ended(next);
      expect(await gauge.free(process)).toBe(1);
      expect(await process.get(id)).toEqual(cancelled);
      expect(process.errors).toEqual([]);
    },
  );

  it("drops a late throw, and the result of a step that did not heed it [C-081]", async () => {
    const gate = Promise.withResolvers<void>();
    const process = await Process.started({
      tools: {
        tool: async (_, task) => {
          await task.step("s", () => gate.promise);
          throw new Error("not reached");
        },
      },
    });
    const id = await process.callId("tool");
    await process.until(id, ({ task }) => task.journalled);
    const { task } = await process.runtime.cancelNow(id, nobody);
    const cancelled = { task, inputs: [], outcome: null };
    gate.resolve();
    await process.clock.advance(10_000);
    expect(await process.get(id)).toEqual(cancelled);
    expect(await process.store.journalEntry(id, "s")).toBeUndefined();
    expect(process.errors).toEqual([]);
  });

  it("leaves no rejection unhandled of calls that the handler does not wait for", async () => {
    const process = await Process.started({
      tools: {
        tool: async (_, task) => {
          void task.elicit("q", question);
          void task.sleep("s", 60_000);
          void task.step("t", () => never);
          void task.status("busy");
          task.progress(1);
          return never;
        },
      },
    });
    const id = await process.callId("tool");
    await process.asked(id);
    await process.runtime.cancelNow(id, nobody);
    await process.clock.advance(60_000);
    expect(process.errors).toMatchObject([{ code: "handler_leaked" }]);
  });

  it("ends a queued task, which then takes no slot", async () => {
    const runs: string[] = [];
    const gate = Promise.withResolvers<void>();
    const process = await Process.started({
      tools: {
        tool: async (_, task) => {
          runs.push(task.id);
          await gate.promise;
          return text("hi");
        },
      },
      options: { concurrency: 1 },
    });
    const [first, queued, last] = [
      await process.callId("tool"),
      await process.callId("tool"),
      await process.callId("tool"),
    ];
    expect(await process.runtime.cancelNow(queued, nobody)).toMatchObject({ task: { state: "cancelled" } });
    gate.resolve();
    await process.ended(last);
    expect(runs).toEqual([first, last]);
    expect((await process.get(queued)).task.state).toBe("cancelled");
  });

  it("leaves a handler out whose request was being read meanwhile, and frees its slot", async () => {
    const read = new Held("request");
    const runs: string[] = [];
    const process = await Process.started({
      tools: { tool: (_, task) => (runs.push(task.id), text("x")) },
      before: read.before,
      options: { concurrency: 1 },
    });
    const id = await process.callId("tool", { queued: true });
    await read.reached;
    await process.runtime.cancelNow(id, nobody);
    read.open();
    const next = await process.callId("tool");
    await process.ended(next);
    expect(runs).toEqual([next]);
  });

  it("comes before the grace of an earlier request", async () => {
    const process = await Process.started({ tools: { hang: () => never } });
    const id = await process.callId("hang");
    await process.runtime.cancel(id, nobody);
    const requested = (await process.get(id)).task.cancelRequestedAt;
    await process.clock.advance(1);
    expect(await process.runtime.cancelNow(id, nobody)).toMatchObject({
      task: { state: "cancelled", cancelRequestedAt: requested },
    });
  });

  it("is kept through a crash [C-081]", async () => {
    const config = { onCrash: "resume" as const };
    const setup = { tools: { tool: { config, handler: (() => never) as Handler } } };
    const first = await Process.started(setup);
    const id = await first.callId("tool");
    const { task } = await first.runtime.cancelNow(id, nobody);
    const second = await first.crash(setup);
    await second.clock.advance(1_000);
    expect(await second.get(id)).toEqual({ task, inputs: [], outcome: null });
  });

  it("changes no task that has ended, in whatever way [C-078]", async () => {
    const fails: Handler = () => ({ ...text("no"), isError: true });
    const process = await Process.started({ tools: { hello: () => text("hi"), fails, hang: () => never } });
    const hanging = await process.callId("hang");
    await process.runtime.cancelNow(hanging, nobody);
    for (const id of [hanging, await process.callId("hello"), await process.callId("fails")]) {
      const ended = await process.until(id, ({ task }) => isTerminal(task.state));
      const { task, cancelled } = await process.runtime.cancelNow(id, nobody);
      expect([task, cancelled]).toEqual([ended.task, false]);
      expect(await process.get(id)).toEqual(ended);
    }
  });

  it("is for the owner alone, and two at once end the task once [A-40]", async () => {
    const process = await Process.started({ tools: { hang: () => never } });
    const id = await process.callId("hang");
    const eve = { ...nobody, principal: "eve" };
    await expect(process.runtime.cancelNow(id, eve)).rejects.toMatchObject({ code: "unknown_task" });
    await expect(process.runtime.cancelNow("x", nobody)).rejects.toMatchObject({ code: "unknown_task" });
    const both = await Promise.all([
      process.runtime.cancelNow(id, nobody),
      process.runtime.cancelNow(id, nobody),
    ]);
    expect(both.map(({ cancelled }) => cancelled)).toEqual([true, false]);
  });
});
