import { expect, it } from "vitest";
import { HoldfastError } from "../../src/task/fault.ts";
import { openTelemetry } from "../../src/telemetry/open-telemetry.ts";
import { Process, text, type Setup } from "../runtime/harness.ts";
import { CollectedMetrics } from "./collected-metrics.ts";

const tool = (name: string) => ({ "gen_ai.tool.name": name });
const queue = (name: string, state: string, value: number) => ({
  attributes: { ...tool(name), "holdfast.queue.state": state },
  value,
});

it("says what stands in a process and in the queues of the store", async () => {
  const metrics = new CollectedMetrics();
  const begun = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const setup: Setup = {
    telemetry: metrics.telemetry,
    options: { concurrency: 2 },
    tools: {
      hold: async () => {
        begun.resolve();
        await held.promise;
        return text("held");
      },
      ask: async (_, task) => {
        await task.elicit("approve", { message: "?", requestedSchema: { type: "object", properties: {} } });
        return text("asked");
      },
    },
  };
  const process = await Process.started(setup);
  const asked = await process.callId("ask");
  await process.asked(asked);
  const first = await process.callId("hold");
  const second = await process.callId("hold");
  const third = await process.callId("hold");
  await begun.promise;
  await process.clock.advance(7_000);
  expect(await metrics.points("holdfast.slot.limit")).toEqual([{ attributes: {}, value: 2 }]);
  expect(await metrics.points("holdfast.slot.usage")).toEqual([{ attributes: {}, value: 2 }]);
  expect(await metrics.points("holdfast.handler.active")).toEqual([
    { attributes: tool("ask"), value: 1 },
    { attributes: tool("hold"), value: 2 },
  ]);
  expect(await metrics.points("holdfast.handler.waiting")).toEqual([{ attributes: tool("ask"), value: 1 }]);
  expect(await metrics.points("holdfast.queue.length")).toEqual([queue("hold", "ready", 1)]);
  expect(await metrics.points("holdfast.queue.age")).toEqual([{ attributes: {}, value: 7 }]);
  const waiting = (name: string, reason: string, value: number) => ({
    attributes: { ...tool(name), "holdfast.wait.reason": reason },
    value,
  });
  expect(await metrics.points("holdfast.task.waiting")).toEqual([
    waiting("ask", "question", 1),
    waiting("hold", "slot", 1),
  ]);
  held.resolve();
  for (const id of [first, second, third]) await process.ended(id);
  await process.clock.advance(5_000);
  expect(await metrics.points("holdfast.queue.age")).toEqual([{ attributes: {}, value: 0 }]);
  expect(await metrics.points("holdfast.queue.length")).toEqual([queue("hold", "ready", 0)]);
  expect(await metrics.points("holdfast.task.waiting")).toContainEqual(waiting("hold", "slot", 0));
  expect(await metrics.points("holdfast.handler.active")).toContainEqual({
    attributes: tool("hold"),
    value: 0,
  });
  await process.runtime.stop();
});

it("says how many permits of each limit are in use", async () => {
  const metrics = new CollectedMetrics();
  const held = Promise.withResolvers<void>();
  const process = await Process.started({
    telemetry: metrics.telemetry,
    options: { limits: { builds: { concurrency: 2 }, search: { perMinute: 9 } } },
    tools: {
      build: async (_, task) => {
        await task.step("build", { limit: ["builds", task.id] }, () => held.promise);
        return text("built");
      },
    },
  });
  const permits = (builds: number) => [
    { attributes: { "holdfast.limit.name": "builds" }, value: builds },
    { attributes: { "holdfast.limit.name": "search" }, value: 0 },
  ];
  expect(await metrics.points("holdfast.limit.permits")).toEqual(permits(0));
  const ids = await Promise.all(["build", "build", "build"].map((name) => process.callId(name)));
  for (const id of ids) await process.until(id, ({ task }) => task.journalled);
  await process.clock.advance(1_000);
  expect(await metrics.points("holdfast.limit.permits")).toEqual(permits(3));
  held.resolve();
  for (const id of ids) await process.ended(id);
  expect(await metrics.points("holdfast.limit.permits")).toEqual(permits(0));
  await process.runtime.stop();
});

it("asks the store for its queues no more often than every five seconds, and nothing where that has failed, or hangs", async () => {
  const metrics = new CollectedMetrics();
  const process = await Process.started({
    telemetry: metrics.telemetry,
    tools: { ship: () => text("shipped") },
  });
  const { admin } = process.store;
  if (admin === undefined) throw new Error("The store has no part for operators.");
  let reads = 0;
  let fails = false;
  let hangs = false;
  const queues = admin.queues.bind(admin);
  Object.assign(admin, {
    queues: (most: number) => {
      reads++;
      if (hangs) return new Promise<never>(() => undefined);
      return fails ? Promise.reject(new HoldfastError("store_failed", "away")) : queues(most);
    },
  });
  await Promise.all([metrics.all(), metrics.all()]);
  await metrics.all();
  expect(reads).toBe(1);
  await process.clock.advance(5_000);
  fails = true;
  for (let times = 0; times < 3; times++)
    expect(await metrics.points("holdfast.slot.usage")).toEqual([{ attributes: {}, value: 0 }]);
  expect(reads).toBe(2);
  await process.clock.advance(5_000);
  hangs = true;
  const collecting = metrics.points("holdfast.slot.usage");
  await process.clock.advance(1_000);
  expect(await collecting).toEqual([{ attributes: {}, value: 0 }]);
  expect(reads).toBe(3);
  await process.runtime.stop();
  await metrics.all();
  expect(reads).toBe(3);
});

it("says how late the event loop is, by the names of the convention", async () => {
  const metrics = new CollectedMetrics();
  const process = await Process.started({ telemetry: metrics.telemetry, tools: {} });
  const delays = async (): Promise<string[]> =>
    (await metrics.all())
      .filter(({ descriptor, dataPoints }) => descriptor.name.startsWith("nodejs.") && dataPoints.length > 0)
      .map(({ descriptor: { name, unit } }) => `${name} ${unit}`);
  const all = ["min", "max", "mean", "p50", "p90", "p99"].map((each) => `nodejs.eventloop.delay.${each} s`);
  await expect.poll(delays, { timeout: 20_000 }).toEqual(all);
  await process.runtime.stop();
});

it("sums up the servers of a process that share a meter, and has the queue that is the longest", async () => {
  const metrics = new CollectedMetrics();
  const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const held = Promise.withResolvers<void>();
  const server = (place: 0 | 1, concurrency: number): Promise<Process> =>
    Process.started({
      telemetry: place === 0 ? metrics.telemetry : openTelemetry({ meterProvider: metrics.provider }),
      options: { concurrency },
      tools: {
        hold: async () => {
          begun[place]?.resolve();
          await held.promise;
          return text("held");
        },
      },
    });
  const [first, second] = [await server(0, 1), await server(1, 2)];
  for (const process of [first, second]) for (let calls = 0; calls < 4; calls++) await process.callId("hold");
  await Promise.all(begun.map(({ promise }) => promise));
  await first.clock.advance(9_000);
  await second.clock.advance(7_000);
  const value = async (name: string): Promise<unknown> =>
    (await metrics.points(name)).map((point) => point.value);
  expect(await value("holdfast.slot.limit")).toEqual([3]);
  expect(await value("holdfast.slot.usage")).toEqual([3]);
  expect(await value("holdfast.handler.active")).toEqual([3]);
  expect(await value("holdfast.queue.length")).toEqual([3]);
  expect(await value("holdfast.queue.age")).toEqual([9]);
  held.resolve();
  await second.runtime.stop();
  expect(await value("holdfast.slot.limit")).toEqual([1]);
  await first.runtime.stop();
});
