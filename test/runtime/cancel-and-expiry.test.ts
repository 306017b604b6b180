import { describe, expect, it } from "vitest";
import type { HoldfastError } from "../../src/task/fault.ts";
import { bodyOf, nobody, Process, text, type Handler } from "./harness.ts";
import { storeFailed, type BeforeCall } from "./watched-store.ts";

const never = new Promise<never>(() => undefined);
const untilAborted: Handler = (_, task) =>
  new Promise((_resolve, reject) => {
    task.signal.addEventListener("abort", () => reject(task.signal.reason as Error));
  });

describe("cancel", () => {
  it("is durable at once and ends the task when its handler throws [X-079 X-080]", async () => {
    const process = await Process.started({ tools: { waits: untilAborted } });
    const id = await process.callId("waits");
    await process.until(id, ({ task }) => task.state === "running");
    await process.runtime.cancel(id, nobody);
    expect((await process.get(id)).task.cancelRequestedAt).not.toBeNull();
    const { task, outcome } = await process.ended(id);
    expect([task.state, outcome]).toEqual(["cancelled", null]);
  });

  it("keeps the result of a handler that ends within the grace [X-079]", async () => {
    const gate = Promise.withResolvers<void>();
    const process = await Process.started({
      tools: {
        finishes: async () => {
          await gate.promise;
          return text("done anyway");
        },
      },
    });
    const id = await process.callId("finishes");
    await process.runtime.cancel(id, nobody);
    gate.resolve();
    expect(bodyOf(await process.ended(id))).toEqual(text("done anyway"));
    await process.clock.advance(10_000);
    expect((await process.get(id)).task.state).toBe("settled");
  });

  it("ends a task after the grace whose handler ignores it, and drops the late result [X-032]", async () => {
    const gate = Promise.withResolvers<void>();
    const process = await Process.started({
      tools: {
        ignores: async () => {
          await gate.promise;
          return text("late");
        },
      },
    });
    const id = await process.callId("ignores");
    await process.until(id, ({ task }) => task.state === "running");
    await process.runtime.cancel(id, nobody);
    await process.clock.advance(4_999);
    expect((await process.get(id)).task.state).toBe("running");
    await process.clock.advance(1);
    const ended = await process.ended(id);
    gate.resolve();
    await process.clock.advance(1);
    expect(await process.get(id)).toEqual(ended);
    expect(ended.task.state).toBe("cancelled");
    expect(process.errors).toMatchObject([{ code: "handler_leaked" }]);
  });

  it("is acknowledged where the server stops before the store takes the end of a queued task", async () => {
    const before: BeforeCall = (call) => {
      if (call === "cancel") throw storeFailed();
    };
    const tools = { hangs: () => never };
    const process = await Process.started({ tools, options: { concurrency: 1 }, before });
    await process.callId("hangs");
    const id = await process.callId("hangs");
    const cancelling = process.runtime.cancel(id, nobody);
    await process.until(id, ({ task }) => task.cancelRequestedAt !== null);
    await process.clock.advance(1_000);
    const stopping = process.runtime.stop();
    await process.clock.advance(60_000);
    await stopping;
    await cancelling;
    expect(new Set(process.errors.map((error) => (error as HoldfastError).code))).toEqual(
      new Set(["store_failed"]),
    );
  });

  it("ends a queued task at once, and a question that is open", async () => {
    const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
    const process = await Process.started({
      tools: { hang: () => never, asks: async (_, task) => text((await task.elicit("q", question)).action) },
      options: { concurrency: 1 },
    });
    const asking = await process.callId("asks");
    await process.asked(asking);
    await process.callId("hang");
    const queued = await process.callId("hang");
    await process.runtime.cancel(queued, nobody);
    expect((await process.get(queued)).task.state).toBe("cancelled");
    await process.runtime.cancel(asking, nobody);
    await process.clock.advance(5_000);
    expect((await process.ended(asking)).task.state).toBe("cancelled");
  });

  it("does nothing to a finished task [A-22]", async () => {
    const process = await Process.started({ tools: { hello: () => text("hi") } });
    const ended = await process.ended(await process.callId("hello"));
    await process.runtime.cancel(ended.task.id, nobody);
    expect(await process.get(ended.task.id)).toEqual(ended);
  });

  it("lets a handler begin no further step", async () => {
    const steps: string[] = [];
    const process = await Process.started({
      tools: {
        busy: async (_, task) => {
          for (let n = 0; ; n++) {
            await task.step(["s", n], () => steps.push("s"));
            if (n === 2) await process.runtime.cancel(task.id, nobody);
          }
        },
      },
    });
    const ended = await process.ended(await process.callId("busy"));
    expect(ended.task.state).toBe("cancelled");
    expect(steps).toHaveLength(3);
  });
});

describe("end of life", () => {
  it("fails a running task at its ttl, tells its handler, shows it for a while, then forgets it [A-30 X-026 X-055 X-097]", async () => {
    const process = await Process.started({ tools: { waits: untilAborted }, options: { ttlMs: 5_000 } });
    const id = await process.callId("waits");
    await process.clock.advance(4_999);
    expect((await process.get(id)).task.state).toBe("running");
    await process.clock.advance(1);
    const ended = await process.ended(id);
    expect(bodyOf(ended)).toEqual({
      code: -32603,
      message: "The task expired before it ended.",
      data: { "holdfast/expired": true },
    });
    await process.clock.advance(59_999);
    expect(await process.get(id)).toEqual(ended);
    await process.clock.advance(1);
    await expect(process.get(id)).rejects.toMatchObject({ code: "unknown_task" });
  });

  it("forgets a finished task at its ttl, not before [X-P-020]", async () => {
    const process = await Process.started({ tools: { hello: () => text("hi") }, options: { ttlMs: 5_000 } });
    const id = await process.callId("hello");
    await process.ended(id);
    await process.clock.advance(4_999);
    await process.get(id);
    await process.clock.advance(1);
    await expect(process.get(id)).rejects.toMatchObject({ code: "unknown_task" });
  });

  it("keeps a task without ttl, and one of a tool with a longer one", async () => {
    const hello: Handler = () => text("hi");
    const process = await Process.started({
      tools: {
        kept: { config: { ttlMs: null }, handler: hello },
        longer: { config: { ttlMs: 9_000 }, handler: hello },
      },
      options: { ttlMs: 5_000 },
    });
    const [kept, longer] = [await process.callId("kept"), await process.callId("longer")];
    await process.clock.advance(8_000);
    await process.get(longer);
    await process.clock.advance(24 * 3_600_000);
    await process.get(kept);
    await expect(process.get(longer)).rejects.toMatchObject({ code: "unknown_task" });
  });

  it("ends what expired while no process ran", async () => {
    const tools = { again: { config: { onCrash: "resume" as const }, handler: (() => never) as Handler } };
    const first = await Process.started({ tools, options: { ttlMs: 5_000 } });
    const id = await first.callId("again");
    await first.clock.advance(1_000);
    const clock = first.clock;
    const second = first.crash({ tools });
    await clock.advance(10_000);
    expect(bodyOf(await (await second).ended(id))).toMatchObject({ code: -32603 });
  });

  it.each([
    ["expired", 10_000, "settled"],
    ["was to be cancelled", 2_000, "cancelled"],
  ])("runs no queued task that %s while no process ran", async (_, ms, state) => {
    let runs = 0;
    const tools = {
      waits: (() => never) as Handler,
      hello: { config: { ttlMs: 5_000 }, handler: () => text(`run ${++runs}`) },
    };
    const first = await Process.started({ tools, options: { concurrency: 1 } });
    await first.callId("waits");
    const id = await first.callId("hello");
    const { clock, runtime } = first;
    const left = { stays: false, promised: false, cancelBy: clock.now() + 1_000 };
    if (state === "cancelled") await runtime.leave(id, nobody, left);
    clock.jump(ms);
    const { task } = await (await first.crash({ tools })).ended(id);
    expect([task.state, runs]).toEqual([state, 0]);
  });

  it("leaves no timer behind when it stops", async () => {
    const process = await Process.started({ tools: { waits: untilAborted, hello: () => text("hi") } });
    await process.ended(await process.callId("hello"));
    const id = await process.callId("waits");
    await process.runtime.cancel(id, nobody);
    await process.runtime.stop();
    expect(process.clock.armed).toBe(0);
  });
});
