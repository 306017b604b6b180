import { expect, it } from "vitest";
import type { RateSettings } from "../../../src/server/limits.ts";
import type { HoldfastError } from "../../../src/task/fault.ts";
import { Rates } from "../../../src/server/rates.ts";

const off: RateSettings = {
  callsPerMinute: null,
  listsPerMinute: null,
  missesPerMinute: null,
  pollsPerInterval: null,
  maxLoopDelayMs: null,
};

// An hour between polls: no test is long enough for a second interval.
const hour = 3_600_000;

/** Alice has the tasks whose names begin with `own`. */
const finds = async (message: object): Promise<boolean> => JSON.stringify(message).includes('"own');

function ratesOf(given: Partial<RateSettings>, loopDelay = () => 0): Rates {
  return new Rates({ rates: { ...off, ...given }, pollIntervalMs: hour, loopDelay, finds });
}

const call = { method: "tools/call", params: { name: "add" } };
const list = { method: "tasks/list" };
const get = (taskId: string): object => ({ method: "tasks/get", params: { taskId } });

/** How many of so many messages are let in, before the first that is not. */
async function letIn(
  rates: Rates,
  message: unknown,
  principal: string | null,
  times: number,
): Promise<number> {
  for (let count = 0; count < times; count += 1) {
    if ((await rates.refusal(message, principal)) !== undefined) return count;
  }
  return times;
}

it.each([
  ["callsPerMinute", call],
  ["listsPerMinute", list],
])("%s bounds each principal by itself", async (name, message) => {
  const rates = ratesOf({ [name]: 3 });
  expect(await letIn(rates, message, "alice", 10)).toBe(3);
  expect(await letIn(rates, message, "bob", 10)).toBe(3);
  expect(await letIn(rates, message, null, 10)).toBe(10);
  const fault = await rates.refusal(message, "alice");
  expect(fault).toMatchObject({
    code: "rate_limited",
    data: { retryAfterMs: expect.any(Number) as unknown },
  });
  const { retryAfterMs } = (fault as HoldfastError).data as { retryAfterMs: number };
  expect(retryAfterMs).toBeGreaterThan(0);
});

it("counts every message of a batch", async () => {
  const rates = ratesOf({ callsPerMinute: 3 });
  expect(await rates.refusal([call, call], "alice")).toBeUndefined();
  expect(await rates.refusal([list, call, call], "alice")).toMatchObject({ code: "rate_limited" });
});

it("lets each task be polled, and its result fetched, so often in the interval that was advertised for it [X-051]", async () => {
  const rates = ratesOf({ pollsPerInterval: 2 });
  expect(await letIn(rates, get("a"), "alice", 10)).toBe(2);
  expect(await letIn(rates, get("b"), null, 10)).toBe(2);
  rates.advertised("c", "alice", 0);
  expect(await letIn(rates, get("c"), "alice", 10)).toBe(10);
  rates.advertised("c", "alice", hour);
  expect(await letIn(rates, get("c"), "alice", 10)).toBe(2);
  const fetch = { method: "tasks/result", params: { taskId: "c" } };
  expect(await letIn(rates, fetch, "alice", 10)).toBe(2);
  expect(await letIn(rates, fetch, "bob", 10)).toBe(2);
});

it("forgets the oldest of very many intervals, and keeps the others", async () => {
  const rates = ratesOf({ pollsPerInterval: 1 });
  for (let i = 0; i <= 10_000; i += 1) rates.advertised(`t${i}`, "alice", 0);
  expect(await letIn(rates, get("t0"), "alice", 5)).toBe(1);
  expect(await letIn(rates, get("t10000"), "alice", 5)).toBe(5);
});

it("refuses who guesses more unknown tasks, and neither its calls nor its own tasks", async () => {
  const rates = ratesOf({ missesPerMinute: 3 });
  rates.missed("alice", 2);
  expect(await rates.refusal(get("a"), "alice")).toBeUndefined();
  rates.missed("alice");
  for (const method of [
    "tasks/get",
    "tasks/result",
    "tasks/update",
    "tasks/cancel",
    "subscriptions/listen",
  ]) {
    expect(await rates.refusal({ method, params: { taskId: "a" } }, "alice")).toMatchObject({
      code: "rate_limited",
    });
    expect(await rates.refusal({ method, params: { taskId: "own" } }, "alice")).toBeUndefined();
    expect(await rates.refusal({ method, params: { taskId: "a" } }, "bob")).toBeUndefined();
  }
  expect(await rates.refusal(call, "alice")).toBeUndefined();
});

it("sheds new calls when the process is late, and answers for the tasks that there are", async () => {
  let late = 5_000;
  const rates = ratesOf({ maxLoopDelayMs: 1_000 }, () => late);
  expect(await rates.refusal(call, null)).toMatchObject({ code: "rate_limited" });
  for (const message of [get("a"), list, { method: "tasks/result", params: { taskId: "a" } }]) {
    expect(await rates.refusal(message, "alice")).toBeUndefined();
  }
  late = 20;
  expect(await rates.refusal(call, null)).toBeUndefined();
});

it("counts calls of polling tools as the methods that they stand for", async () => {
  const pollingTool = (name: unknown): "result" | "list" | undefined =>
    name === "task_result" ? "result" : name === "task_list" ? "list" : undefined;
  const setup = { pollIntervalMs: hour, loopDelay: () => 5_000, pollingTool, finds };
  const rates = new Rates({
    ...setup,
    rates: { ...off, maxLoopDelayMs: 1_000, listsPerMinute: 1, missesPerMinute: 1 },
  });
  const result = { method: "tools/call", params: { name: "task_result" } };
  expect(await rates.refusal(call, "alice")).toMatchObject({ code: "rate_limited" });
  expect(await letIn(rates, result, "alice", 10)).toBe(10);
  expect(await letIn(rates, { method: "tools/call", params: { name: "task_list" } }, "alice", 10)).toBe(1);
  rates.missed("alice");
  expect(await letIn(rates, result, "alice", 10)).toBe(0);
  const called = new Rates({ ...setup, rates: { ...off, callsPerMinute: 2 } });
  expect(await letIn(called, result, "alice", 10)).toBe(2);
});

it("passes over what is no message", async () => {
  const rates = ratesOf({ callsPerMinute: 1, pollsPerInterval: 1 });
  for (const body of [
    undefined,
    null,
    7,
    "tools/call",
    [],
    [[call]],
    {},
    { method: 7 },
    { method: "tasks/get" },
  ]) {
    expect(await rates.refusal(body, "alice")).toBeUndefined();
  }
});
