import { describe, expect, it } from "vitest";
import type { TaskContext } from "../../src/runtime/tool/task-context.ts";
import { rest } from "../../src/testing/clocks.ts";
import { bodyOf, nobody, Process, text, type Handler } from "./harness.ts";
import { Failing, Held, storeFailed, type StoreCall } from "./watched-store.ts";

const hour = 3_600_000;
const never = new Promise<never>(() => undefined);

function storeFailures({ errors }: Process): number {
  return errors.filter((error) => String(error) === String(storeFailed())).length;
}

/** Runs until it is told to end, and notes why. */
function untilTold(reasons: unknown[]): Handler {
  return (_, task) =>
    new Promise((_resolve, reject) => {
      const end = (): void => {
        reasons.push((task.signal.reason as { code?: unknown; name?: unknown }).name);
        reject(task.signal.reason as Error);
      };
      if (task.signal.aborted) end();
      else task.signal.addEventListener("abort", end);
    });
}

describe("a cancel", () => {
  it.each<StoreCall>(["request", "journal"])(
    "that comes while the handler's %s is read reaches it all the same",
    async (call) => {
      const reasons: unknown[] = [];
      const config = { onCrash: "resume" as const };
      const hangs: Handler = async (_, task) => {
        await task.step("s", () => undefined);
        return task.step("t", () => never);
      };
      const first = await Process.started({ tools: { waits: { config, handler: hangs } } });
      const id = await first.callId("waits");
      await first.until(id, ({ task }) => task.journalled);
      const held = new Held(call);
      const tools = { waits: { config, handler: untilTold(reasons) } };
      const second = await first.crash({ tools, before: held.before });
      await held.reached;
      await second.cancel(id);
      held.open();
      expect((await second.ended(id)).task.state).toBe("cancelled");
      expect(reasons).toEqual(["AbortError"]);
    },
  );

  it.each<[string, StoreCall | undefined, (process: Process, id: string) => Promise<unknown>]>([
    ["that was requested before the crash", undefined, () => Promise.resolve()],
    ["while it is queued", "claim", (process, id) => process.cancel(id)],
    ["at once, while it is queued", "claim", (process, id) => process.runtime.cancelNow(id, nobody)],
    ["at once, while it is read", "request", (process, id) => process.runtime.cancelNow(id, nobody)],
  ])("%s reaches the handler whose first step may have begun something", async (_, call, cancel) => {
    const reasons: unknown[] = [];
    const config = { onCrash: "resume" as const };
    const begun = Promise.withResolvers<void>();
    const hangs: Handler = (_args, task) => task.step("s", () => (begun.resolve(), never));
    const first = await Process.started({ tools: { waits: { config, handler: hangs } } });
    const id = await first.callId("waits");
    await begun.promise;
    if (call === undefined) await first.cancel(id);
    const tools = { waits: { config, handler: untilTold(reasons) } };
    const held = call && new Held(call);
    const second = await first.crash({ tools, ...(held && { before: held.before }) });
    await held?.reached;
    if (call === "claim") await second.until(id, ({ task }) => task.state === "queued");
    await cancel(second, id);
    held?.open();
    expect((await second.ended(id)).task.state).toBe("cancelled");
    await expect.poll(() => reasons).toEqual(["AbortError"]);
  });

  it("after the grace ends the attempt's own attempts to write", async () => {
    const failing = new Failing("settle", Number.POSITIVE_INFINITY);
    const process = await Process.started({ tools: { hello: () => text("hi") }, before: failing.before });
    const id = await process.callId("hello");
    await process.clock.advance(5_000);
    expect(failing.hits).toBeGreaterThan(1);
    await process.cancel(id);
    await process.clock.advance(5_000);
    expect((await process.ended(id)).task.state).toBe("cancelled");
    const { hits } = failing;
    await process.clock.advance(hour);
    expect(failing.hits).toBe(hits);
  });

  it("whose end the store could not take at first is taken later", async () => {
    const failing = new Failing("cancel", 3);
    const process = await Process.started({ tools: { hangs: () => never }, before: failing.before });
    const id = await process.callId("hangs");
    await process.until(id, ({ task }) => task.state === "running");
    await process.cancel(id);
    await process.clock.advance(60_000);
    expect((await process.ended(id)).task.state).toBe("cancelled");
    expect([failing.hits, storeFailures(process)]).toEqual([3, 3]);
  });

  it("whose end the store never takes leaves nothing behind when the server stops", async () => {
    const failing = new Failing("cancel", Number.POSITIVE_INFINITY);
    const tools = { hangs: { config: { onCrash: "resume" as const }, handler: (() => never) as Handler } };
    const process = await Process.started({ tools, before: failing.before });
    const id = await process.callId("hangs");
    await process.until(id, ({ task }) => task.state === "running");
    await process.cancel(id);
    await process.clock.advance(5_000);
    const stopping = process.runtime.stop();
    await process.clock.advance(10_000);
    await stopping;
    expect(process.clock.armed).toBe(0);
    expect(process.errors).toHaveLength(failing.hits);
  });
});

describe("the end of life", () => {
  it("tells the handler, and ends its attempts to write", async () => {
    const reasons: unknown[] = [];
    const failing = new Failing("settle", Number.POSITIVE_INFINITY);
    const process = await Process.started({
      tools: { waits: untilTold(reasons), hello: () => text("hi") },
      options: { ttlMs: 5_000 },
      before: failing.before,
    });
    const [waits, hello] = [await process.callId("waits"), await process.callId("hello")];
    await process.clock.advance(4_999);
    expect(reasons).toEqual([]);
    await process.clock.advance(1);
    for (const id of [waits, hello]) expect(bodyOf(await process.ended(id))).toMatchObject({ code: -32603 });
    expect(reasons).toEqual(["HoldfastError"]);
    const { hits } = failing;
    await process.clock.advance(hour);
    expect(failing.hits).toBe(hits);
  });

  it("comes a little later where the store fails at it, and not a minute later", async () => {
    for (const call of ["due", "nextSweepAt", "expire", "delete_expired"] as const) {
      let down = false;
      const failing = new Failing(call);
      const process = await Process.started({
        tools: { hangs: () => never },
        options: { ttlMs: 60_500 },
        before: (name, id) => (down ? failing.before(name, id) : undefined),
      });
      const id = await process.callId("hangs");
      await process.clock.advance(60_499);
      down = true;
      await process.clock.advance(1 + 5_000);
      expect((await process.ended(id)).task.state).toBe("settled");
      expect([failing.hits, storeFailures(process)]).toEqual([1, 1]);
    }
  });
});

describe("a step", () => {
  it("is not tried again once its task is cancelled", async () => {
    let runs = 0;
    const begun = Promise.withResolvers<TaskContext>();
    const handler: Handler = (_, task) =>
      task.step("s", { retries: 5 }, async ({ signal }) => {
        runs++;
        begun.resolve(task);
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        throw new Error("given up");
      });
    const process = await Process.started({ tools: { handler } });
    const id = await process.callId("handler");
    await begun.promise;
    await process.cancel(id);
    await process.clock.advance(hour);
    expect((await process.ended(id)).task.state).toBe("cancelled");
    expect([runs, process.errors]).toEqual([1, []]);
    expect(await process.store.journalEntry(id, "s")).toBeUndefined();
  });

  it("is tried again no more when the cancel comes in the pause between two tries", async () => {
    let runs = 0;
    const handler: Handler = (_, task) =>
      task.step("s", { retries: 5 }, () => {
        runs++;
        throw new Error("busy");
      });
    const process = await Process.started({ tools: { handler } });
    const id = await process.callId("handler");
    await process.until(id, () => runs === 1);
    await process.cancel(id);
    expect((await process.ended(id)).task.state).toBe("cancelled");
    await process.clock.advance(hour);
    expect(runs).toBe(1);
  });

  it.each<[string, () => Promise<number>]>([
    ["ends", () => Promise.resolve(1)],
    ["throws", () => Promise.reject(new Error("broken"))],
  ])("that %s in time leaves no timer of its limit behind", async (_, work) => {
    const armed: number[] = [];
    const handler: Handler = async (__, task) => {
      armed.push(process.clock.armed);
      await task.step("s", { timeoutMs: 5_000 }, work).catch(() => undefined);
      armed.push(process.clock.armed);
      return text("done");
    };
    const process = new Process({ tools: { handler } });
    await process.runtime.start();
    await rest(); // the sweeper arms its own
    await process.ended(await process.callId("handler"));
    expect(armed[1]).toBe(armed[0]);
  });
});
