import { describe, expect, it } from "vitest";
import { nobody, Process, text, type Handler } from "./harness.ts";

const second = 1_000;

/** Sleeps until its task ends, and notes what the task says of the cancel then, and said before. */
function sleeper(seen: unknown[]): Handler {
  return async (_, task) => {
    if (!task.signal.aborted) seen.push(task.cancelled);
    try {
      await task.sleep("long", 60 * second);
    } catch (error) {
      seen.push(task.cancelled);
      throw error;
    }
    return text("awake");
  };
}

describe("a task says that it was cancelled", () => {
  it.each([
    ["by a request", (process: Process, id: string) => process.cancel(id)],
    ["at once", (process: Process, id: string) => process.runtime.cancelNow(id, nobody)],
  ])("%s, while its handler waits", async (_, cancel) => {
    const seen: unknown[] = [];
    const process = await Process.started({ tools: { sleeper: sleeper(seen) } });
    const id = await process.callId("sleeper");
    await process.journalHas(id, "long");
    await cancel(process, id);
    expect((await process.ended(id)).task.state).toBe("cancelled");
    await expect.poll(() => seen).toEqual([false, true]);
  });

  it("to a handler that runs once more after a restart", async () => {
    const seen: unknown[] = [];
    const tools = { sleeper: sleeper(seen) };
    const first = await Process.started({ tools });
    const id = await first.callId("sleeper");
    await first.journalHas(id, "long");
    const process = await first.restart({ tools });
    await process.cancel(id);
    expect((await process.ended(id)).task.state).toBe("cancelled");
    expect(seen).toEqual([false, true]);
  });
});

describe("a task does not say so", () => {
  it("at the end of its life", async () => {
    const seen: unknown[] = [];
    const handler: Handler = async (_, task) => {
      await task
        .step("s", ({ signal }) => {
          return new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        })
        .catch(() => seen.push(task.cancelled));
      return text("late");
    };
    const config = { ttlMs: 10 * second };
    const process = await Process.started({ tools: { works: { config, handler } } });
    const id = await process.callId("works");
    await process.until(id, ({ task }) => task.journalled);
    await process.clock.advance(11 * second);
    await expect.poll(() => seen).toEqual([false]);
  });

  it("where the server stops before its handler does", async () => {
    const seen: unknown[] = [];
    const handler: Handler = (_, task) =>
      new Promise((resolve) => {
        task.signal.addEventListener("abort", () => {
          seen.push(task.cancelled);
          resolve(text("stopped"));
        });
      });
    const tools = { works: { config: { onCrash: "resume" as const }, handler } };
    const process = await Process.started({ tools });
    const id = await process.callId("works");
    await process.until(id, ({ task }) => task.state === "running");
    const stopped = process.runtime.stop();
    await process.clock.advance(10 * second);
    await stopped;
    expect(seen).toEqual([false]);
  });
});
