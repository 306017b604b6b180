import { expect, it } from "vitest";
import type { Leaving, Runtime } from "../../../src/runtime/runtime.ts";
import { callKeys } from "../../../src/runtime/call-keys.ts";
import { Deliveries } from "../../../src/server/plain/delivery.ts";
import type { PlainCall } from "../../../src/server/plain/plain-policies.ts";
import { HoldfastError } from "../../../src/task/fault.ts";
import type { TaskRecord } from "../../../src/task/record.ts";
import { rest } from "../../../src/testing/clocks.ts";

interface Setup {
  readonly deliveries: Deliveries;
  /** What the runtime was asked to do. */
  readonly done: string[];
  readonly errors: unknown[];
  /** Lets the runtime answer. */
  readonly open: () => void;
}

const graceMs = 600_000;
const noon = Date.UTC(2026, 0, 1, 12);

/** `fault`: what the runtime answers; `wanted`: whether somebody elsewhere wants the result; `ended`: whether it is there. */
function setup({
  fault = undefined as Error | undefined,
  held = false,
  wanted = false,
  ended = false,
} = {}): Setup {
  const gate = Promise.withResolvers<void>();
  if (!held) gate.resolve();
  const done: string[] = [];
  const errors: unknown[] = [];
  const asked = async (what: string): Promise<void> => {
    await gate.promise;
    if (fault !== undefined) throw fault;
    done.push(what);
  };
  const runtime = {
    cancelUnlessWanted: async () => {
      await asked("call off");
      return wanted ? undefined : { task, cancelled: !ended };
    },
    delivered: (_id: string, _requestor: unknown, deleteBy = 0) =>
      asked(`release, delete in ${deleteBy - noon}`),
    leave: (_id: string, _requestor: unknown, { stays, promised, cancelBy }: Leaving) => {
      const cancel = cancelBy === null ? [] : [`cancel in ${cancelBy - noon}`];
      return asked([stays ? "stay" : "leave", ...(promised ? ["promised"] : []), ...cancel].join(", "));
    },
    clock: { now: () => noon, elapsed: () => 0 },
  } as unknown as Runtime;
  const deliveries = new Deliveries(runtime, graceMs, (error) => errors.push(error));
  return { deliveries, done, errors, open: gate.resolve };
}

const released = "release, delete in 600000";
const secret = { current: Buffer.alloc(32), accepted: [] };
const { key = "" } = callKeys(secret, { principal: "ann", tool: "tool", arguments: {} }) ?? {};
const task = { id: "t", idempotencyKey: key, promised: false } as TaskRecord;
const caller = (more: Partial<PlainCall> = {}): PlainCall =>
  ({ isWaitedFor: () => true, ...more }) as PlainCall;

it.each([1, 2, 3])("cancels a task when the last of %i callers calls off", async (count) => {
  const { deliveries, done } = setup();
  const waiting = Array.from({ length: count }, () => deliveries.wait(task, caller()));
  for (const each of waiting) {
    expect(done).toEqual([]);
    await each.depart("cancelled");
    each.leave();
  }
  await rest();
  expect(done).toEqual(["call off", released]);
});

it("does not cancel a task that somebody elsewhere wants, and tells that nobody waits here", async () => {
  const { deliveries, done } = setup({ wanted: true });
  await deliveries.wait(task, caller()).depart("cancelled");
  await rest();
  expect(done).toEqual(["call off", "leave"]);
});

it("does not cancel a task when a caller leaves without calling off", async () => {
  const { deliveries, done } = setup();
  const [first, last] = [deliveries.wait(task, caller()), deliveries.wait(task, caller())];
  await first.depart("cancelled");
  last.leave();
  last.leave();
  await rest();
  expect(done).toEqual(["leave"]);
});

it("does not cancel a task that a call is about to join", async () => {
  const { deliveries, done } = setup();
  const waiting = deliveries.wait(task, caller());
  const arrived = deliveries.arrive(task);
  await waiting.depart("timed_out");
  expect(done).toEqual([]);
  const joined = deliveries.wait(task, caller());
  arrived();
  joined.leave();
  await rest();
  expect(done).toEqual(["leave"]);
});

it("is abandoned from the moment when the last caller calls off until the task is cancelled", async () => {
  const { deliveries, done, open } = setup({ held: true });
  const waiting = deliveries.wait(task, caller());
  expect(deliveries.isAbandoned("t")).toBe(false);
  const called = waiting.depart("cancelled");
  expect(deliveries.isAbandoned("t")).toBe(true);
  const settled = deliveries.settled("t");
  open();
  await settled;
  expect([deliveries.isAbandoned("t"), done]).toEqual([false, ["call off", released]]);
  await called;
});

it.each([
  ["has ended", { ended: true }, 0],
  ["is deleted", { fault: new HoldfastError("unknown_task", "unknown") }, 0],
  ["cannot be cancelled", { fault: new HoldfastError("store_failed", "full") }, 1],
])("is not abandoned for ever if the task %s", async (_, answers, reported) => {
  const { deliveries, errors } = setup(answers);
  const waiting = deliveries.wait(task, caller());
  const called = waiting.depart("cancelled");
  const joined = deliveries.wait(task, caller());
  await called;
  expect([deliveries.isAbandoned("t"), errors.length]).toEqual([false, reported]);
  joined.leave();
});

it.each<[string, readonly (readonly [number, boolean])[], readonly string[]]>([
  ["the only answer arrived", [[0, true]], [released]],
  ["the only answer is lost", [[0, false]], ["leave"]],
  ["one is lost and then one arrived", [[0, false], [1, true]], [released]], // prettier-ignore
  ["one arrived and then one is lost", [[0, true], [1, false]], [released]], // prettier-ignore
  ["both are lost", [[0, false], [1, false]], ["leave"]], // prettier-ignore
])("settles when %s", async (_, ends, expected) => {
  const { deliveries, done } = setup();
  const answers = [0, 1].slice(0, ends.length).map(() => {
    const waiting = deliveries.wait(task, caller());
    const arrived = waiting.send();
    waiting.leave();
    return arrived;
  });
  let isSettled = false;
  const settled = deliveries.settled("t").then(() => (isSettled = true));
  for (const [index, arrived] of ends) {
    await rest();
    expect(isSettled).toBe(false);
    answers[index]?.(arrived);
  }
  await settled;
  await rest();
  expect(done).toEqual(expected);
});

it("does not call off what is on its way to another caller", async () => {
  const { deliveries, done } = setup();
  const [first, last] = [deliveries.wait(task, caller()), deliveries.wait(task, caller())];
  const arrived = first.send();
  first.leave();
  await last.depart("cancelled");
  arrived(true);
  await deliveries.settled("t");
  expect(done).toEqual([released]);
});

it("never releases a key that the caller chose, and says nothing of who waits for it", async () => {
  const { deliveries, done } = setup();
  const waiting = deliveries.wait({ ...task, idempotencyKey: "own", promised: true }, caller());
  waiting.send()(true);
  await waiting.promise({ leaves: true });
  waiting.leave();
  await deliveries.settled("t");
  expect(done).toEqual([]);
});

it.each<[string, Partial<TaskRecord>, boolean, readonly string[]]>([
  ["only one", {}, true, ["leave, promised"]],
  ["one that goes on waiting", {}, false, ["stay, promised", "leave"]],
  ["one that was told before", { promised: true }, true, ["leave, promised"]],
  ["one whose call is found by nothing else", { idempotencyKey: null }, true, ["leave, promised"]],
  ["one that was told before, of such a call", { idempotencyKey: null, promised: true }, true, []],
])("tells once that a caller may come back: %s", async (_, more, leaves, expected) => {
  const { deliveries, done } = setup();
  const waiting = deliveries.wait({ ...task, ...more }, caller());
  await waiting.promise({ leaves });
  waiting.leave();
  await rest();
  expect(done).toEqual(expected);
});

it("tells that others still wait here when a caller was told how to come back", async () => {
  const { deliveries, done } = setup();
  const [first, last] = [deliveries.wait(task, caller()), deliveries.wait(task, caller())];
  await first.promise({ leaves: true });
  last.leave();
  await rest();
  expect(done).toEqual(["stay, promised", "leave"]);
});

it("knows whether a client waits whose connection is not gone, and tells others when that breaks", async () => {
  const { deliveries, done } = setup();
  let isWaitedFor = true;
  let broken = (): void => undefined;
  const gone = caller({
    isWaitedFor: () => isWaitedFor,
    onBroken: (listener) => {
      broken = listener;
      return () => (broken = () => undefined);
    },
  });
  expect(deliveries.isAwaited("t")).toBe(false);
  const waiting = deliveries.wait(task, gone);
  expect(deliveries.isAwaited("t")).toBe(true);
  isWaitedFor = false;
  broken();
  await rest();
  expect([deliveries.isAwaited("t"), done]).toEqual([false, ["leave"]]);
  const other = deliveries.wait(task, caller());
  expect(deliveries.isAwaited("t")).toBe(true);
  for (const each of [other, other, waiting]) each.leave();
  broken();
  await rest();
  expect([deliveries.isAwaited("t"), done]).toEqual([false, ["leave", "leave"]]);
});

it("gives a task a grace when the time of its last caller is over", async () => {
  const { deliveries, done } = setup();
  const [first, last] = [deliveries.wait(task, caller()), deliveries.wait(task, caller())];
  await first.depart("timed_out");
  expect(done).toEqual([]);
  await last.depart("timed_out");
  last.leave();
  await rest();
  expect(done).toEqual([`leave, cancel in ${graceMs}`]);
});

it.each([
  ["that the same call cannot find", null],
  ["that can be found by a key of its own", "own"],
])("gives no grace to a task %s", async (_, idempotencyKey) => {
  const { deliveries, done } = setup();
  await deliveries.wait({ ...task, idempotencyKey }, caller()).depart("timed_out");
  expect(done).toEqual(["call off", released]);
});

it.each(["cancelled", "timed_out"] as const)(
  "leaves for a caller that waited in another process: %s",
  async (how) => {
    const { deliveries, done } = setup();
    await deliveries.leave(task, how);
    expect(done).toEqual(how === "cancelled" ? ["call off", released] : [`leave, cancel in ${graceMs}`]);
    done.length = 0;
    const waiting = deliveries.wait(task, caller());
    await deliveries.leave(task, how);
    expect(done).toEqual([]);
    waiting.leave();
  },
);

it.each([
  ["has ended", new HoldfastError("unknown_task", "unknown"), 0],
  ["cannot be changed", new HoldfastError("store_failed", "full"), 1],
])("goes on if the grace of a task that %s cannot be stored", async (_, fault, reported) => {
  const { deliveries, errors } = setup({ fault });
  await deliveries.wait(task, caller()).depart("timed_out");
  expect(errors).toHaveLength(reported);
});
