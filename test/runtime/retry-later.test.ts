import { expect, it } from "vitest";
import { retryLater, saidPause } from "../../src/runtime/tool/tool-errors.ts";
import type { StepOptions } from "../../src/runtime/tool/task-context.ts";
import { bodyOf, Process, text, type Handler, type Setup } from "./harness.ts";
import { SlotGauge } from "./slot-gauge.ts";

/** A tool of one step that comes to these ends, one after the other, and then returns how often it was run. */
function coming(ends: readonly (() => unknown)[], options: StepOptions = {}, runs: number[] = []): Handler {
  return async (_, task) => {
    const count = await task.step("get", options, () => {
      runs.push(runs.length);
      const end = ends[runs.length - 1];
      return end === undefined ? runs.length : (end() as number);
    });
    return text(`after ${count}`);
  };
}

const thrown = (error: unknown) => (): never => {
  throw error;
};
const busy = (after: string, status = 429): Response =>
  new Response("busy", { status, headers: { "Retry-After": after } });

async function started(handler: Handler, options: Setup["options"] = {}) {
  const gauge = new SlotGauge();
  const setup: Setup = {
    tools: { get: handler, gauge: gauge.handler },
    options: { concurrency: 1, ...options },
  };
  const process = await Process.started(setup);
  return { process, setup, gauge, id: await process.callId("get") };
}

const inHalfAMinute = new Date(Date.UTC(2026, 0, 1, 0, 0, 30));

it.each<[string, () => unknown, StepOptions?]>([
  ["throws retryLater with milliseconds", () => thrown(retryLater(30_000))()],
  ["throws retryLater with a time", () => thrown(retryLater(inHalfAMinute))()],
  ["throws a Response with Retry-After in seconds", () => thrown(busy("30"))()],
  ["throws a Response with Retry-After as a date", () => thrown(busy(inHalfAMinute.toUTCString(), 503))()],
  ["returns such a Response", () => busy("30")],
  [
    "throws an error with a response",
    () => thrown(Object.assign(new Error("busy"), { response: busy("30") }))(),
  ],
  [
    "throws an error with the parts of a response",
    () => thrown(Object.assign(new Error("busy"), { status: 429, headers: { "Retry-After": "30" } }))(),
  ],
  ["throws what retryIf answers with milliseconds", thrown(new Error("busy")), { retryIf: () => 30_000 }],
])(
  "a step that %s runs again then, without a slot and without a retry of its own",
  async (_, end, options = {}) => {
    const runs: number[] = [];
    const { process, gauge, id } = await started(coming([end, end], options, runs));
    await process.journalHas(id, "get");
    expect(await gauge.free(process)).toBe(1);
    const entry = await process.store.journalEntry(id, "get");
    expect(entry).toMatchObject({ tries: 0, doneAt: null, deadlineAt: process.clock.now() + 30_000 });
    await process.clock.advance(29_999);
    expect(runs).toHaveLength(1);
    await process.clock.advance(1);
    expect(runs).toHaveLength(2);
    await process.clock.advance(30_000);
    expect(bodyOf(await process.ended(id))).toEqual(text("after 3"));
  },
);

it("a restart neither ends the wait nor begins it again", async () => {
  const runs: number[] = [];
  const { process, setup, id } = await started(coming([thrown(retryLater(30_000))], {}, runs));
  await process.journalHas(id, "get");
  await process.clock.advance(20_000);
  const next = await process.restart(setup);
  expect((await next.get(id)).task).toMatchObject({ waitsFor: "sleep" });
  await next.clock.advance(9_000);
  expect(runs).toHaveLength(1);
  await next.clock.advance(2_000);
  expect(bodyOf(await next.ended(id))).toEqual(text("after 2"));
});

it("what is no refusal, or does not say when, is an end like any other", async () => {
  const never: StepOptions = { retryIf: () => false };
  for (const [end, options] of [
    [thrown(new Error("gone")), {}],
    [thrown(busy("soon")), {}],
    [thrown(busy("30", 301)), {}],
    [thrown(busy("30")), never],
    [thrown(new Error("gone")), { retryIf: () => 0 }],
    [thrown(new Error("gone")), { retryIf: () => true }],
  ] as const) {
    const { process, id } = await started(coming([end], options));
    expect(bodyOf(await process.ended(id))).toMatchObject({ isError: true });
  }
});

it("a step whose task does not live that long fails with what it threw", async () => {
  const { process, id } = await started(coming([thrown(busy("90"))]), { ttlMs: 60_000 });
  expect(bodyOf(await process.ended(id))).toEqual({
    isError: true,
    content: [{ type: "text", text: "The service answered with status 429." }],
  });
});

it("all steps under its limit wait, also those of other tasks", async () => {
  const runs: number[] = [];
  const { process, id } = await started(coming([thrown(busy("30"))], { limit: "api" }, runs), {
    limits: { api: { concurrency: 4 } },
  });
  await process.journalHas(id, "get");
  const other = await process.callId("get");
  await process.until(other, ({ task }) => task.waitsFor === "limit");
  await process.clock.advance(29_000);
  expect(runs).toHaveLength(1);
  await process.clock.advance(3_000);
  for (const each of [id, other]) expect(bodyOf(await process.ended(each))).toMatchObject({ content: [{}] });
  expect(runs).toHaveLength(3);
});

it("a pause is at least a millisecond, and at least a second for a service that says now", () => {
  expect(saidPause(retryLater(0), 0)).toBe(1);
  expect(saidPause(retryLater(new Date(5)), 10)).toBe(1);
  expect(saidPause(busy("0"), 0)).toBe(1_000);
  expect(saidPause({ status: 429 }, 0)).toBeUndefined();
  expect(saidPause(undefined, 0)).toBeUndefined();
  for (const wrong of [Number.NaN, -1, new Date(Number.NaN), "soon" as never])
    expect(() => retryLater(wrong)).toThrow(TypeError);
});
