import { describe, expect, it } from "vitest";
import { HoldfastError } from "../../src/task/fault.ts";
import { rest } from "../../src/testing/clocks.ts";
import { bodyOf, nobody, Process, text, type Handler, type Setup } from "./harness.ts";
import { SlotGauge } from "./slot-gauge.ts";
import { Failing, type BeforeCall } from "./watched-store.ts";

const hello: Handler = () => text("hi");

async function start(setup: Setup): Promise<{ process: Process; gauge: SlotGauge }> {
  const gauge = new SlotGauge();
  const tools = { ...setup.tools, gauge: gauge.handler };
  return { process: await Process.started({ options: { concurrency: 1 }, ...setup, tools }), gauge };
}

/** A process with its only slot taken and one task in the queue; `next` lets that one start. */
async function queued(before: (process: Process, id: string) => BeforeCall): Promise<{
  process: Process;
  gauge: SlotGauge;
  id: string;
  next: () => Promise<void>;
}> {
  const gate = Promise.withResolvers<void>();
  let inTheWay: BeforeCall = () => undefined;
  const { process, gauge } = await start({
    tools: { busy: async () => (await gate.promise, text("busy")), hello },
    before: (call, id) => inTheWay(call, id),
  });
  const busy = await process.callId("busy");
  const id = await process.callId("hello");
  const next = async (): Promise<void> => {
    gate.resolve();
    await process.ended(busy);
    await rest();
  };
  inTheWay = before(process, id);
  return { process, gauge, id, next };
}

describe("the slot of a call comes back", () => {
  it("when its record cannot be written, which the caller hears", async () => {
    const { process, gauge } = await start({ tools: { hello }, before: new Failing("create").before });
    await expect(process.call("hello")).rejects.toMatchObject({ code: "store_failed" });
    expect(await gauge.free(process)).toBe(1);
  });

  it("when the same call was made before, and when its key belongs to another one [A-48]", async () => {
    const { process, gauge } = await start({ tools: { hello } });
    const key = { idempotencyKey: "k".repeat(30) };
    const first = await process.call("hello", key);
    await process.ended(first.task.id);
    expect((await process.call("hello", key)).task.id).toBe(first.task.id);
    expect(await gauge.free(process)).toBe(1);
    await expect(process.call("hello", { ...key, arguments: { other: 1 } })).rejects.toMatchObject({
      code: "idempotency_conflict",
    });
    expect(await gauge.free(process)).toBe(1);
  });

  it("when the call is made again after its task's time is over and before it is deleted", async () => {
    const { process, gauge } = await start({ tools: { hello }, options: { concurrency: 1, ttlMs: 1_000 } });
    const key = { idempotencyKey: "k".repeat(30) };
    const first = await process.call("hello", key);
    await process.ended(first.task.id);
    process.clock.suspend(1_001);
    const second = await process.call("hello", key);
    expect(second.task.id).not.toBe(first.task.id);
    expect(bodyOf(await process.ended(second.task.id))).toEqual(text("hi"));
    expect(await gauge.free(process)).toBe(1);
  });

  it("when arguments are refused before there is a task", async () => {
    const { process, gauge } = await start({
      tools: { hello },
      options: { concurrency: 1, maxBodyBytes: 100 },
    });
    const call = process.call("hello", { arguments: { a: "x".repeat(200) } });
    await expect(call).rejects.toMatchObject({ code: "invalid_params" });
    expect(await gauge.free(process)).toBe(1);
  });

  it("when a direct run cannot become a task, which its caller hears", async () => {
    const handler: Handler = async (_, task) => task.step("s", () => text("step"));
    const { process, gauge } = await start({
      tools: { late: { config: { promoteAfterMs: 1_000 }, handler } },
      before: new Failing("create").before,
    });
    const call = { ...nobody, tool: "late", arguments: {}, origin: { capabilities: {} } };
    const end = await process.runtime.call(call, new AbortController().signal);
    expect(end).toMatchObject({ kind: "outcome", outcome: { kind: "error" } });
    expect(await gauge.free(process)).toBe(1);
  });
});

describe("the slot of a queued task comes back", () => {
  it("when it was cancelled as it was about to start", async () => {
    const { process, gauge, id, next } = await queued((own, task) => async (call) => {
      if (call === "claim") await own.store.write({ type: "cancel", now: 0, id: task });
    });
    await next();
    expect((await process.ended(id)).task.state).toBe("cancelled");
    expect(await gauge.free(process)).toBe(1);
  });

  it("when its start fails for good; the task stays queued, and the next process runs it", async () => {
    const broken = new HoldfastError("internal", "not a passing fault");
    let failures = 0;
    const { process, id, next } = await queued(() => (call) => {
      if (call === "claim" && failures++ === 0) throw broken;
    });
    await next();
    expect(process.errors).toEqual([broken]);
    expect((await process.get(id)).task.state).toBe("queued");
    const second = await process.restart({ tools: { hello } });
    expect(bodyOf(await second.ended(id))).toEqual(text("hi"));
  });

  it("when what it was asked cannot be read for good; the next process finds it running", async () => {
    const broken = new HoldfastError("internal", "not a passing fault");
    const { process, gauge, id, next } = await queued((__, task) => (call, of) => {
      if (call === "request" && of === task) throw broken;
    });
    await next();
    expect(process.errors).toEqual([broken]);
    expect(await gauge.free(process)).toBe(1);
    const config = { onCrash: "resume" as const };
    const second = await process.restart({ tools: { hello: { config, handler: hello } } });
    expect(bodyOf(await second.ended(id))).toEqual(text("hi"));
  });

  it("when its start fails and then succeeds", async () => {
    const failing = new Failing("claim", 2);
    const { process, gauge, id, next } = await queued(() => failing.before);
    await next();
    await process.clock.advance(10_000);
    expect(bodyOf(await process.ended(id))).toEqual(text("hi"));
    expect([failing.hits, process.errors.length]).toEqual([2, 2]);
    expect(await gauge.free(process)).toBe(1);
  });
});

it("a new call does not pass those that wait", async () => {
  const seen: string[] = [];
  const gate = Promise.withResolvers<void>();
  const { process } = await start({
    tools: {
      busy: async () => (await gate.promise, text("busy")),
      notes: (args) => (seen.push(String(args["name"])), text("noted")),
    },
  });
  await process.callId("busy");
  const ids: string[] = [];
  const call = async (name: string): Promise<void> => {
    process.clock.jump(1); // those of one millisecond have no order
    ids.push(await process.callId("notes", { arguments: { name } }));
  };
  for (const name of ["a", "b"]) await call(name);
  gate.resolve();
  for (const name of ["c", "d", "e"]) await call(name);
  for (const id of ids) await process.ended(id);
  expect(seen).toEqual(["a", "b", "c", "d", "e"]);
});
