import { expect, it } from "vitest";
import type { Runtime } from "../../../src/runtime/runtime.ts";
import { Deliveries, type MayComeBack } from "../../../src/server/plain/delivery.ts";
import {
  nextState,
  type DeliveryEvent,
  type DeliveryState,
} from "../../../src/server/plain/delivery-state.ts";
import { callKey } from "../../../src/server/plain/call-keys.ts";
import type { PlainCall } from "../../../src/server/plain/plain-call.ts";
import { HoldfastError } from "../../../src/task/fault.ts";
import type { TaskRecord } from "../../../src/task/record.ts";
import { rest } from "../../runtime/fake-clock.ts";

const events: readonly DeliveryEvent[] = ["keep", "call_off", "end_cancel", "send", "arrive", "lose"];

/** The next state for each event, in the order above. */
const table: Record<DeliveryState, readonly DeliveryState[]> = {
  awaited: ["kept", "abandoned", "awaited", "sending", "awaited", "awaited"],
  kept: ["kept", "kept", "kept", "sending", "kept", "kept"],
  sending: ["sending", "sending", "sending", "sending", "delivered", "kept"],
  delivered: ["delivered", "delivered", "delivered", "delivered", "delivered", "delivered"],
  abandoned: ["abandoned", "abandoned", "kept", "abandoned", "abandoned", "abandoned"],
};

it.each(Object.entries(table) as [DeliveryState, readonly DeliveryState[]][])(
  "changes from %s as the table says",
  (state, next) => {
    expect(events.map((event) => nextState(state, event))).toEqual(next);
  },
);

interface Setup {
  readonly deliveries: Deliveries;
  /** What the runtime was asked to do. */
  readonly done: string[];
  /** After how long tasks are deleted whose result somebody had, in ms. */
  readonly deletions: number[];
  readonly errors: unknown[];
  /** Lets the runtime answer. */
  readonly open: () => void;
}

const graceMs = 600_000;
const noon = Date.UTC(2026, 0, 1, 12);

function setup({ cancelled = undefined as Error | undefined, held = false } = {}): Setup {
  const gate = Promise.withResolvers<void>();
  if (!held) gate.resolve();
  const done: string[] = [];
  const deletions: number[] = [];
  const errors: unknown[] = [];
  const runtime = {
    cancelNow: async (id: string) => {
      await gate.promise;
      if (cancelled !== undefined) throw cancelled;
      done.push(`cancel ${id}`);
      return { task };
    },
    delivered: async (id: string, _requestor: unknown, deleteBy?: number) => {
      await gate.promise;
      done.push(`release ${id}`);
      if (deleteBy !== undefined) deletions.push(deleteBy - noon);
    },
    scheduleCancel: async (id: string, _requestor: unknown, cancelBy: number | null) => {
      await gate.promise;
      if (cancelled !== undefined) throw cancelled;
      done.push(cancelBy === null ? `spare ${id}` : `cancel ${id} in ${cancelBy - noon}`);
    },
    clock: { now: () => noon },
  } as unknown as Runtime;
  return {
    deliveries: new Deliveries(runtime, graceMs, (error) => errors.push(error)),
    done,
    deletions,
    errors,
    open: gate.resolve,
  };
}

const key = callKey({ principal: "ann", session: undefined }, "tool", {});
const task = { id: "t", idempotencyKey: key } as TaskRecord;
const caller = (isWaitedFor = true): PlainCall => ({ isWaitedFor: () => isWaitedFor }) as PlainCall;

it.each<[string, readonly MayComeBack[], readonly string[]]>([
  ["that one caller waited for", ["no"], ["cancel t", "release t"]],
  ["that two callers waited for", ["no", "no"], ["cancel t", "release t"]],
  ["whose first caller is known to be the only one", ["no", "unknown"], ["cancel t", "release t"]],
  ["that was there before", ["unknown"], []],
  ["that can be found by a key", ["yes"], []],
  ["that can be found by a key of one caller", ["no", "yes"], []],
])("when all callers call off a task %s", async (_, callers, expected) => {
  const { deliveries, done } = setup();
  const waiting = callers.map((mayComeBack) => deliveries.wait(task, caller(), mayComeBack));
  for (const [index, each] of waiting.entries()) {
    if (index > 0) expect(done).toEqual([]);
    await each.callOff();
    each.leave();
  }
  expect(done).toEqual(expected);
});

it("does not cancel a task when a caller leaves without calling off, or has a ticket", async () => {
  const { deliveries, done } = setup();
  const [first, last] = [deliveries.wait(task, caller(), "no"), deliveries.wait(task, caller(), "no")];
  await first.callOff();
  last.leave();
  const [told, other] = [deliveries.wait(task, caller(), "no"), deliveries.wait(task, caller(), "no")];
  told.keep();
  told.leave();
  await other.callOff();
  expect(done).toEqual([]);
  // Nobody waits any more, so that a later call is followed from its own start.
  await deliveries.wait(task, caller(), "no").callOff();
  expect(done).toEqual(["cancel t", "release t"]);
});

it("is abandoned from the moment when the last caller calls off until the task is cancelled", async () => {
  const { deliveries, done, open } = setup({ held: true });
  const waiting = deliveries.wait(task, caller(), "no");
  expect(deliveries.isAbandoned("t")).toBe(false);
  const called = waiting.callOff();
  expect(deliveries.isAbandoned("t")).toBe(true);
  const settled = deliveries.settled("t");
  open();
  await settled;
  expect([deliveries.isAbandoned("t"), done]).toEqual([false, ["cancel t", "release t"]]);
  await called;
});

it.each([
  ["has ended", new HoldfastError("finished", "ended"), 0],
  ["is deleted", new HoldfastError("unknown_task", "unknown"), 0],
  ["cannot be cancelled", new HoldfastError("store_failed", "full"), 1],
])("is not abandoned for ever if the task %s", async (_, cancelled, reported) => {
  const { deliveries, done, errors } = setup({ cancelled });
  const waiting = deliveries.wait(task, caller(), "no");
  const called = waiting.callOff();
  const joined = deliveries.wait(task, caller(), "no");
  await called;
  expect([deliveries.isAbandoned("t"), done, errors.length]).toEqual([false, [], reported]);
  joined.leave();
});

it.each<[string, readonly (readonly [number, boolean])[], readonly string[]]>([
  ["the only answer arrived", [[0, true]], ["release t"]],
  ["the only answer is lost", [[0, false]], []],
  ["one is lost and then one arrived", [[0, false], [1, true]], ["release t"]], // prettier-ignore
  ["one arrived and then one is lost", [[0, true], [1, false]], ["release t"]], // prettier-ignore
  ["both are lost", [[0, false], [1, false]], []], // prettier-ignore
])("settles when %s", async (_, ends, expected) => {
  const { deliveries, done } = setup();
  const answers = [0, 1].slice(0, ends.length).map(() => {
    const waiting = deliveries.wait(task, caller(), "no");
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
  expect(done).toEqual(expected);
});

it("never releases a key that the caller chose", async () => {
  const { deliveries, done } = setup();
  const waiting = deliveries.wait({ ...task, idempotencyKey: "own" }, caller(), "yes");
  waiting.send()(true);
  await deliveries.settled("t");
  expect(done).toEqual([]);
});

it("knows whether a client waits whose connection is not gone", () => {
  const { deliveries } = setup();
  expect(deliveries.isAwaited("t")).toBe(false);
  const gone = deliveries.wait(task, caller(false), "no");
  expect(deliveries.isAwaited("t")).toBe(false);
  const waiting = deliveries.wait(task, caller(), "no");
  expect(deliveries.isAwaited("t")).toBe(true);
  for (const each of [waiting, waiting, gone]) each.leave();
  expect(deliveries.isAwaited("t")).toBe(false);
});

it("gives a task a grace when the time of its last caller is over, and takes it back when somebody waits", async () => {
  const { deliveries, done } = setup();
  const [first, last] = [deliveries.wait(task, caller(), "no"), deliveries.wait(task, caller(), "no")];
  await first.timeOut();
  expect(done).toEqual([]);
  await last.timeOut();
  expect(done).toEqual([`cancel t in ${graceMs}`]);
  const again = deliveries.wait(task, caller(), "no");
  again.changed({ ...task, cancelBy: null });
  again.changed({ ...task, cancelBy: noon });
  await rest();
  expect(done.slice(1)).toEqual(["spare t"]);
  await again.callOff();
  expect(done.slice(2)).toEqual(["cancel t", "release t"]);
});

it.each<[string, MayComeBack, string | null, readonly string[]]>([
  ["that the same call cannot find", "no", null, ["cancel t", "release t"]],
  ["that can be found by a key of its own", "yes", "own", []],
  ["that has a ticket", "yes", key ?? "", []],
  ["that was there before", "unknown", key ?? "", []],
])("gives no grace to a task %s", async (_, mayComeBack, idempotencyKey, expected) => {
  const { deliveries, done } = setup();
  await deliveries.wait({ ...task, idempotencyKey }, caller(), mayComeBack).timeOut();
  expect(done).toEqual(expected);
});

it.each([
  ["has ended", new HoldfastError("unknown_task", "unknown"), 0],
  ["cannot be changed", new HoldfastError("store_failed", "full"), 1],
])("goes on if the grace of a task that %s cannot be stored", async (_, cancelled, reported) => {
  const { deliveries, errors } = setup({ cancelled });
  const waiting = deliveries.wait(task, caller(), "no");
  waiting.changed({ ...task, cancelBy: noon });
  await waiting.timeOut();
  expect(errors).toHaveLength(2 * reported);
});

it.each<[string, MayComeBack, string | null, readonly number[]]>([
  ["a result that the same call alone can find", "no", key ?? "", [600_000]],
  ["one that nobody can find", "no", null, [600_000]],
  ["one with a ticket", "yes", key ?? "", []],
  ["one that may have a ticket", "unknown", key ?? "", []],
])("says when to delete %s, once it was delivered", async (_, mayComeBack, idempotencyKey, expected) => {
  const { deliveries, done, deletions } = setup();
  deliveries.wait({ ...task, idempotencyKey }, caller(), mayComeBack).send()(true);
  await deliveries.settled("t");
  expect([done, deletions]).toEqual([["release t"], expected]);
});
