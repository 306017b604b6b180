import { describe, expect, it } from "vitest";
import { rest } from "../../src/testing/clocks.ts";
import { bodyOf, nobody, Process, text, type Handler } from "./harness.ts";
import { SlotGauge } from "./slot-gauge.ts";

const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
const graceMs = 1_000;

/** What is told of the `count`-th handler of a tool that outlives its task. */
const leak = (tool: string, count: number): unknown =>
  expect.objectContaining({
    code: "handler_leaked",
    message: expect.stringMatching(new RegExp(`"${tool}" has ${count} handler`)) as string,
  });

interface Started {
  readonly process: Process;
  readonly gauge: SlotGauge;
  /** Ends the handlers of `deaf`, which heed no signal. */
  readonly release: () => void;
}

async function start(concurrency: number, more: Record<string, Handler> = {}): Promise<Started> {
  const gauge = new SlotGauge();
  const gate = Promise.withResolvers<void>();
  const deaf: Handler = async () => (await gate.promise, text("too late"));
  const process = await Process.started({
    tools: { deaf, hello: () => text("hi"), gauge: gauge.handler, ...more },
    options: {
      concurrency,
      cancelGraceMs: graceMs,
      maxLeakedHandlers: 2,
      stopDeadlineMs: 60_000,
      requestedTtl: "task",
    },
  });
  return { process, gauge, release: gate.resolve };
}

async function cancelled(process: Process, tool: string): Promise<string> {
  const id = await process.callId(tool);
  await process.until(id, ({ task }) => task.state === "running");
  await process.cancel(id);
  await process.clock.advance(graceMs);
  return id;
}

describe("a handler that goes on although its task has ended", () => {
  it.each<[string, (process: Process) => Promise<unknown>]>([
    ["a cancel", (process) => cancelled(process, "deaf")],
    [
      "an immediate cancel",
      async (process) => {
        const id = await process.callId("deaf");
        await process.runtime.cancelNow(id, nobody);
        await process.clock.advance(graceMs);
      },
    ],
    [
      "the end of its life",
      async (process) => {
        await process.callId("deaf", { ttlMs: 5_000 });
        await process.clock.advance(5_000);
        await process.clock.advance(graceMs);
      },
    ],
  ])("gives its slot back a grace after %s, and is reported once", async (_, end) => {
    const { process, gauge, release } = await start(1);
    await end(process);
    expect(await gauge.free(process)).toBe(1);
    expect(process.errors).toEqual([leak("deaf", 1)]);
    release();
    await process.clock.advance(60_000);
    expect(await gauge.free(process)).toBe(1);
    expect(process.errors).toHaveLength(1);
  });

  it("keeps its slot during the grace", async () => {
    const { process, gauge } = await start(1);
    const id = await process.callId("deaf");
    await process.runtime.cancelNow(id, nobody);
    await process.clock.advance(graceMs - 1);
    const next = await process.callId("hello");
    await rest();
    expect((await process.get(next)).task.state).toBe("queued");
    await process.clock.advance(1);
    expect(bodyOf(await process.ended(next))).toEqual(text("hi"));
    expect(await gauge.free(process)).toBe(1);
  });

  it("is not counted where it only waited for its slot to hear of the cancel", async () => {
    const busy = Promise.withResolvers<void>();
    const { process, gauge } = await start(1, {
      busy: async () => (await busy.promise, text("busy")),
      asks: async (_, task) => text((await task.elicit("q", question)).action),
    });
    const id = await process.callId("asks");
    await process.asked(id);
    await process.callId("busy");
    await process.cancel(id);
    await process.clock.advance(10 * graceMs);
    expect((await process.get(id)).task.state).toBe("cancelled");
    busy.resolve();
    expect(await gauge.free(process)).toBe(1);
    expect(process.errors).toEqual([]);
  });

  it("holds up its tool from the limit on, and no other, until one has ended", async () => {
    const { process, gauge, release } = await start(4);
    for (let count = 0; count < 2; count++) await cancelled(process, "deaf");
    expect(process.errors).toEqual([leak("deaf", 1), leak("deaf", 2)]);
    const waiting = [await process.callId("deaf"), await process.callId("deaf")];
    expect(await gauge.free(process, 4)).toBe(4);
    for (const id of waiting) expect((await process.get(id)).task.state).toBe("queued");
    const dropped = await process.callId("deaf");
    await process.cancel(dropped);
    release();
    for (const id of waiting) expect(bodyOf(await process.ended(id))).toEqual(text("too late"));
    expect((await process.get(dropped)).task.state).toBe("cancelled");
    expect(await gauge.free(process, 4)).toBe(4);
  });

  it("is not waited for by a stop", async () => {
    const { process } = await start(1);
    await cancelled(process, "deaf");
    await process.runtime.stop();
    expect(process.clock.armed).toBe(0);
  });

  it("counts for a tool that is answered directly too", async () => {
    const gate = Promise.withResolvers<void>();
    const config = { promoteAfterMs: 1_000 };
    const handler: Handler = async () => (await gate.promise, text("direct"));
    const process = await Process.started({
      tools: { deaf: { config, handler } },
      options: { cancelGraceMs: graceMs, maxLeakedHandlers: 1 },
    });
    const call = { ...nobody, tool: "deaf", arguments: {}, origin: { capabilities: {} } };
    const calling = process.runtime.call(call, new AbortController().signal);
    await process.clock.advance(1_000);
    const end = await calling;
    const id = end.kind === "task" ? end.snapshot.task.id : "";
    await process.cancel(id);
    await process.clock.advance(graceMs);
    expect(process.errors).toEqual([leak("deaf", 1)]);
    const next = await process.runtime.call(call, new AbortController().signal);
    expect(next).toMatchObject({ kind: "task", snapshot: { task: { state: "queued" } } });
    gate.resolve();
    await process.ended(next.kind === "task" ? next.snapshot.task.id : "");
  });
});
