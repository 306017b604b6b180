import { expect, it } from "vitest";
import { rest } from "../../src/testing/clocks.ts";
import { nobody, Process, text, type Handler } from "./harness.ts";
import { SlotGauge } from "./slot-gauge.ts";
import { type BeforeCall } from "./watched-store.ts";
const call = (args: object = {}) => ({
  ...nobody,
  tool: "late",
  arguments: args,
  origin: { capabilities: {} },
});
const config = { promoteAfterMs: 1_000 };

it("a direct run that is refused for its arguments takes no slot", async () => {
  const gauge = new SlotGauge();
  const process = await Process.started({
    tools: { late: { config, handler: () => text("x") }, gauge: gauge.handler },
    options: { concurrency: 1, maxBodyBytes: 100 },
  });
  await expect(
    process.runtime.call(call({ a: "x".repeat(200) }), new AbortController().signal),
  ).rejects.toMatchObject({ code: "invalid_params" });
  expect(await gauge.free(process)).toBe(1);
});

it("a task that expires while its first status is written gives its slot back", async () => {
  const gauge = new SlotGauge();
  let before: BeforeCall = () => undefined;
  const handler: Handler = async (_, task) => {
    await task.status("early");
    return task.step("s", () => text("x"));
  };
  const process = await Process.started({
    tools: { late: { config, handler }, gauge: gauge.handler },
    options: { concurrency: 1 },
    before: (c, id) => before(c, id),
  });
  before = async (c, id) => {
    if (c === "update" && id !== undefined) await process.store.write({ type: "cancel", now: 0, id });
  };
  await process.runtime.call(call(), new AbortController().signal);
  await rest();
  expect(await gauge.free(process)).toBe(1);
});

it("a first status that cannot be stored costs neither the task nor its slot", async () => {
  const gauge = new SlotGauge();
  const handler: Handler = async (_, task) => {
    await task.extend(0);
    return task.step("s", () => text("x"));
  };
  const process = await Process.started({
    tools: { late: { config, handler }, gauge: gauge.handler },
    options: { concurrency: 1 },
  });
  await process.runtime.call(call(), new AbortController().signal);
  await process.clock.advance(10000);
  expect(await gauge.free(process)).toBe(1);
});

it("a step that is begun as the handler of a direct run ends makes no task behind its answer", async () => {
  for (let turns = 0; turns < 20; turns++) {
    const gauge = new SlotGauge();
    const handler: Handler = (_, task) => {
      let late = Promise.resolve();
      for (let turn = 0; turn < turns; turn++) late = late.then(() => undefined);
      void late.then(() => task.step("late", () => 1)).catch(() => undefined);
      return text("x");
    };
    const process = await Process.started({
      tools: { late: { config, handler }, gauge: gauge.handler },
      options: { concurrency: 1 },
    });
    const end = await process.runtime.call(call(), new AbortController().signal);
    await rest();
    const left = await process.store.unfinished("", 9);
    expect([turns, end.kind, left.length, await gauge.free(process)]).toEqual([turns, end.kind, 0, 1]);
  }
});

/** A server of one slot, whose handler heeds no signal, after the caller of its direct run has left. */
async function abandoned() {
  const gauge = new SlotGauge();
  const gate = Promise.withResolvers<void>();
  const deaf: Handler = async () => (await gate.promise, text("too late"));
  const process = await Process.started({
    tools: { late: { config, handler: deaf }, gauge: gauge.handler },
    options: { concurrency: 1, cancelGraceMs: 2_000, maxLeakedHandlers: 1 },
  });
  const caller = new AbortController();
  const calling = process.runtime.call(call(), caller.signal);
  calling.catch(() => undefined);
  await rest();
  caller.abort(new Error("gone"));
  return { process, gauge, calling, release: gate.resolve };
}

it("a direct run whose caller has left becomes no task, and gives its slot back after the grace", async () => {
  const { process, gauge, calling, release } = await abandoned();
  await process.clock.advance(1_999);
  expect(await process.runtime.list(nobody, { limit: 9 })).toEqual([]);
  await process.clock.advance(1);
  await expect(calling).rejects.toMatchObject({ code: "handler_leaked" });
  expect(process.errors).toMatchObject([{ code: "handler_leaked" }]);
  expect(await gauge.free(process)).toBe(1);
  // It counts among those of its tool until it has ended.
  const next = await process.callId("late");
  expect((await process.get(next)).task.state).toBe("queued");
  release();
  await process.ended(next);
  expect(await gauge.free(process)).toBe(1);
});

it("a stop waits for no direct run whose caller has left", async () => {
  const { process, calling } = await abandoned();
  await process.runtime.stop();
  await expect(calling).rejects.toMatchObject({ code: "stopping" });
});
