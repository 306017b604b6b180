import { describe, expect, it } from "vitest";
import { memoryDatabase } from "../../src/store/sqlite/memory-store.ts";
import { HoldfastError } from "../../src/task/fault.ts";
import { latestTime } from "../../src/task/time.ts";
import { CrashableStore } from "../../src/testing/crashable-store.ts";
import { FakeClock, rest } from "../../src/testing/clocks.ts";
import { bodyOf, Process, text, type Handler, type Setup } from "./harness.ts";

const never = new Promise<never>(() => undefined);
const dropping = { maxParkedFrames: 0 };
const parked = { state: "queued", waiting: true, lane: null, token: null } as const;

/** Waits for the event once. */
const waits: Handler = async (_, task) => {
  const value = await task.waitForEvent("wait", "paid");
  return text(`${JSON.stringify(value)} in attempt ${task.attempt}`);
};

/** Waits for so many of them, one after the other. */
function waitsFor(count: number): Handler {
  return async (_, task) => {
    const values: unknown[] = [];
    for (let n = 0; n < count; n++) values.push(await task.waitForEvent(["wait", n], "paid"));
    return text(values.join(" "));
  };
}

async function waiting(process: Process, id: string, openWaits = 1): Promise<void> {
  await process.until(id, ({ task }) => task.openWaits === openWaits && task.waiting);
}

async function untilParked(process: Process, id: string): Promise<void> {
  await process.until(id, ({ task }) => task.state === "queued" && task.waiting);
}

function paid(process: Process, id: string, value?: unknown, dedupeId?: string): Promise<boolean> {
  return process.runtime.sendEvent(id, { name: "paid", value, dedupeId });
}

/** Says how a wait ended. */
async function ended(wait: Promise<unknown>): Promise<string> {
  return wait.then(JSON.stringify, (error: unknown) => (error instanceof HoldfastError ? error.code : "?"));
}

describe("an event", () => {
  it("that comes while the handler waits ends its wait", async () => {
    const process = await Process.started({ tools: { waits } });
    const id = await process.callId("waits");
    await waiting(process, id);
    expect(await paid(process, id, { sum: 5 })).toBe(true);
    expect(bodyOf(await process.ended(id))).toEqual(text('{"sum":5} in attempt 1'));
    expect(process.errors).toEqual([]);
  });

  it("that comes first is kept, and goes to the first wait of its name", async () => {
    const gate = Promise.withResolvers<void>();
    const late: Handler = async (...call) => {
      await gate.promise;
      return waits(...call);
    };
    const process = await Process.started({ tools: { late } });
    const id = await process.callId("late");
    await process.runtime.sendEvent(id, { name: "refused", value: 1 });
    await paid(process, id, "early");
    gate.resolve();
    expect(bodyOf(await process.ended(id))).toEqual(text('"early" in attempt 1'));
  });

  it("that comes before the handler has begun is kept too", async () => {
    const options = { concurrency: 1 };
    const hang: Handler = () => never;
    const process = await Process.started({ tools: { hang, waits }, options });
    const first = await process.callId("hang");
    const id = await process.callId("waits");
    await paid(process, id);
    await process.cancel(first);
    await process.clock.advance(10_000);
    expect(bodyOf(await process.ended(id))).toEqual(text("null in attempt 1"));
  });

  it("wakes a handler whose frame was dropped", async () => {
    const process = await Process.started({ tools: { waits }, options: dropping });
    const id = await process.callId("waits");
    await untilParked(process, id);
    expect((await process.get(id)).task).toMatchObject({ ...parked, runAfter: latestTime });
    await paid(process, id, true);
    expect(bodyOf(await process.ended(id))).toEqual(text("true in attempt 2"));
    expect((await process.get(id)).task.crashes).toBe(0);
  });

  it.each(["crash", "restart"] as const)("ends a wait that began before a %s", async (how) => {
    const first = await Process.started({ tools: { waits } });
    const id = await first.callId("waits");
    await waiting(first, id);
    const second = await first[how]({ tools: { waits } });
    await second.clock.advance(60_000);
    expect((await second.get(id)).task).toMatchObject({ ...parked, attempt: 1 });
    await paid(second, id, 1);
    expect(bodyOf(await second.ended(id))).toEqual(text("1 in attempt 2"));
  });

  it("that ended a wait before a crash is what the wait resolves with again", async () => {
    const setup = (hangs: boolean): Setup => ({
      tools: {
        tool: async (_, task) => {
          const value = await task.waitForEvent("wait", "paid");
          await task.step("saw", () => value);
          return hangs ? never : text(String(value));
        },
      },
    });
    const first = await Process.started(setup(true));
    const id = await first.callId("tool");
    await waiting(first, id);
    await paid(first, id, "one");
    await first.journalHas(id, "saw");
    await paid(first, id, "two");
    const second = await first.crash(setup(false));
    expect(bodyOf(await second.ended(id))).toEqual(text("one"));
  });

  it.each([{}, { options: dropping }])("sent by another process on the store ends it (%o)", async (more) => {
    const clock = new FakeClock();
    const database = memoryDatabase();
    const start = async (): Promise<Process> => {
      const process = new Process(
        { tools: { waits }, ...more },
        clock,
        new CrashableStore(undefined, database),
      );
      await process.runtime.start();
      return process;
    };
    const [a, b] = [await start(), await start()];
    const id = await a.callId("waits");
    await a.until(id, ({ task }) => task.waiting && task.openWaits === 1);
    await paid(b, id, "from b");
    await clock.advance(1_000);
    expect(bodyOf(await a.ended(id))).toMatchObject({
      content: [{ text: expect.stringContaining('"from b"') as string }],
    });
  });

  it("ends one wait each, in the order in which they came and the waits began", async () => {
    const process = await Process.started({ tools: { three: waitsFor(3) } });
    const id = await process.callId("three");
    await waiting(process, id);
    for (const value of ["a", "b", "c", "d"]) await paid(process, id, value);
    expect(bodyOf(await process.ended(id))).toEqual(text("a b c"));
  });

  it("ends the wait that began first of those that wait together", async () => {
    const both: Handler = async (_, task) => {
      const all = ["x", "y"].map((key) => task.waitForEvent(key, "paid"));
      const other = task.waitForEvent("z", "refused");
      return text(JSON.stringify(await Promise.all([...all, other])));
    };
    const process = await Process.started({ tools: { both }, options: dropping });
    const id = await process.callId("both");
    await process.until(id, ({ task }) => task.openWaits === 3);
    await process.runtime.sendEvent(id, { name: "refused", value: 3 });
    await paid(process, id, 1);
    await paid(process, id, 2);
    expect(bodyOf(await process.ended(id))).toEqual(text("[1,2,3]"));
  });

  it("goes to the task that it was sent to, be it the one that another handler called", async () => {
    const ids: string[] = [];
    const child: Handler = async (_, task) => {
      ids.push(task.id);
      return waits({}, task);
    };
    const parent: Handler = async (_, task) => task.call("it", "child");
    const process = await Process.started({ tools: { child, parent }, options: dropping });
    const id = await process.callId("parent");
    await process.until(id, () => ids.length > 0);
    const [called = ""] = ids;
    await process.journalHas(called, "wait");
    await paid(process, called, "below");
    expect(bodyOf(await process.ended(id))).toMatchObject({
      content: [{ text: expect.stringContaining("below") as string }],
    });
  });
});

describe("a wait with a time", () => {
  /** Waits twice, and keeps how the first wait ended in a step. */
  const inTime =
    (timeoutMs: number, hangs = false): Handler =>
    async (_, task) => {
      const how = await ended(task.waitForEvent("first", "paid", { timeoutMs }));
      await task.step(`first ${how}`, () => how);
      if (hangs) return never;
      return text(`${how}, ${await ended(task.waitForEvent("second", "paid"))}`);
    };

  it.each([{}, { options: dropping }])(
    "rejects at its end, and a later event goes to another (%o)",
    async (more) => {
      const process = await Process.started({ tools: { tool: inTime(5_000) }, ...more });
      const id = await process.callId("tool");
      await process.until(id, ({ task }) => task.openWaits === 1 && task.waiting);
      await process.clock.advance(4_999);
      await process.journalHas(id, "first");
      expect((await process.get(id)).task.openWaits).toBe(1);
      await process.clock.advance(1);
      await process.journalHas(id, "second");
      await paid(process, id, "late");
      expect(bodyOf(await process.ended(id))).toEqual(text('event_timeout, "late"'));
    },
  );

  it("rejects on a replay too, whatever came since", async () => {
    const first = await Process.started({ tools: { tool: inTime(5_000, true) } });
    const id = await first.callId("tool");
    await waiting(first, id);
    await first.clock.advance(5_000);
    await first.journalHas(id, "first event_timeout");
    await paid(first, id, "late");
    const second = await first.crash({ tools: { tool: inTime(5_000) } });
    expect(bodyOf(await second.ended(id))).toEqual(text('event_timeout, "late"'));
  });

  it("is as long as at first after a crash", async () => {
    const setup = { tools: { tool: inTime(5_000) } };
    const first = await Process.started(setup);
    const id = await first.callId("tool");
    await waiting(first, id);
    await first.clock.advance(3_000);
    const second = await first.crash(setup);
    await second.clock.advance(1_999);
    expect((await second.get(id)).task).toMatchObject({ attempt: 1, openWaits: 1 });
    await second.clock.advance(1);
    await second.journalHas(id, "first event_timeout");
  });

  it("takes no event that comes at its end, before anybody has given it up", async () => {
    const process = await Process.started({ tools: { tool: inTime(5_000) } });
    const id = await process.callId("tool");
    await waiting(process, id);
    process.clock.suspend(5_000); // its timer fires later
    await paid(process, id, "late");
    await process.clock.advance(5_000);
    expect(bodyOf(await process.ended(id))).toEqual(text('event_timeout, "late"'));
  });

  it("takes an event that comes just before its end, although it is known after it", async () => {
    const process = await Process.started({ tools: { tool: inTime(5_000) }, options: dropping });
    const id = await process.callId("tool");
    await untilParked(process, id);
    await process.clock.advance(4_999);
    const sent = paid(process, id, "just");
    await process.clock.advance(1);
    await sent;
    await paid(process, id, "next");
    expect(bodyOf(await process.ended(id))).toEqual(text('"just", "next"'));
  });

  it("of no time takes what is there, and else rejects", async () => {
    const gate = Promise.withResolvers<void>();
    const tool: Handler = async (_, task) => {
      await gate.promise;
      const one = await ended(task.waitForEvent("one", "paid", { timeoutMs: 0 }));
      return text(`${one}, ${await ended(task.waitForEvent("two", "paid", { timeoutMs: 0 }))}`);
    };
    const process = await Process.started({ tools: { tool } });
    const id = await process.callId("tool");
    await paid(process, id, 1);
    gate.resolve();
    await process.clock.advance(0);
    expect(bodyOf(await process.ended(id))).toEqual(text("1, event_timeout"));
  });

  it("makes the result one with isError, where nobody catches that", async () => {
    const tool: Handler = async (_, task) => {
      await task.waitForEvent("wait", "paid", { timeoutMs: 1_000 });
      return text("done");
    };
    const process = await Process.started({ tools: { tool } });
    const id = await process.callId("tool");
    await waiting(process, id);
    await process.clock.advance(1_000);
    expect(bodyOf(await process.ended(id))).toMatchObject({
      isError: true,
      content: [{ text: 'The event "paid" did not arrive in time for the wait "wait".' }],
    });
  });

  it("that ends after the task rejects at once", async () => {
    const tool: Handler = async (_, task) =>
      text(await ended(task.waitForEvent("wait", "paid", { timeoutMs: 60_000 })));
    const process = await Process.started({ tools: { tool }, options: { ttlMs: 30_000 } });
    const id = await process.callId("tool");
    expect(bodyOf(await process.ended(id))).toEqual(text("outlives_task"));
  });
});

describe("a handler that waits for an event", () => {
  it.each([{}, { options: dropping }])("is told of a cancel (%o)", async (more) => {
    const told: unknown[] = [];
    const tool: Handler = async (_, task) => {
      const tell = (): void => void told.push(task.attempt);
      if (task.signal.aborted) tell();
      else task.signal.addEventListener("abort", tell);
      await task.waitForEvent("wait", "paid");
      return text("done");
    };
    const process = await Process.started({ tools: { tool }, ...more });
    const id = await process.callId("tool");
    await process.until(id, ({ task }) => task.openWaits === 1 && task.waiting);
    await process.cancel(id);
    expect((await process.ended(id)).task).toMatchObject({ state: "cancelled", openWaits: 0 });
    await rest();
    expect(told).toHaveLength(1);
    expect(process.errors).toEqual([]);
  });

  it("gives its slot to others", async () => {
    const quick: Handler = () => text("quick");
    const process = await Process.started({ tools: { waits, quick }, options: { concurrency: 1 } });
    const id = await process.callId("waits");
    const other = await process.callId("quick");
    expect(bodyOf(await process.ended(other))).toEqual(text("quick"));
    await paid(process, id);
    await process.ended(id);
  });

  it("does what it may and must not under a key", async () => {
    const seen: string[] = [];
    const tool: Handler = async (_, task) => {
      await task.step("step", async () => {
        seen.push(await ended(task.waitForEvent("inside", "paid")));
      });
      seen.push(await ended(task.waitForEvent("step", "paid")));
      const wrong: [name: unknown, options: object][] = [
        ["", {}],
        [7, {}],
        ["n".repeat(256), {}],
        ["paid", { timeout: 5 }],
        ["paid", { timeoutMs: -1 }],
      ];
      for (const [name, options] of wrong) {
        const wait = task.waitForEvent(`wrong ${seen.length}`, name as string, options);
        seen.push(await wait.then(String, (error: Error) => error.message));
      }
      return text("done");
    };
    const process = await Process.started({ tools: { tool } });
    await process.ended(await process.callId("tool"));
    expect(seen).toEqual([
      "nested_step",
      "duplicate_key",
      "The name of an event must be a non-empty string.",
      "The name of an event must be a non-empty string, not number.",
      "The name of an event is longer than 255 characters.",
      'A wait for an event has no option "timeout". Did you mean timeoutMs?',
      'A wait for an event: timeoutMs must be a length of time, in milliseconds or such as "3d", not -1.',
    ]);
  });

  it.each<[string, Handler]>([
    ["step", async (_, task) => text(await ended(task.step("wait", () => 1)))],
    ["other event", async (_, task) => text(await ended(task.waitForEvent("wait", "refused")))],
    ["sleep", async (_, task) => text(await ended(task.sleep("wait", 1)))],
  ])(
    "is blocked where its key means something else after a restart, a %s, and goes on with the old code",
    async (_, changed) => {
      const first = await Process.started({ tools: { tool: waits } });
      const id = await first.callId("tool");
      await waiting(first, id);
      const second = await first.restart({ tools: { tool: changed } });
      await paid(second, id);
      const { task } = await second.until(id, ({ task: { blocked } }) => blocked !== undefined);
      expect(task.blocked).toMatchObject({
        reason: "replay",
        key: "wait",
        was: 'a wait for the event "paid"',
      });
      const third = await second.restart({ tools: { tool: waits } });
      expect(await third.ended(id)).toMatchObject({ outcome: { kind: "result" } });
    },
  );

  it("without a task is told that there is none", async () => {
    const tools = { tool: { config: { task: "forbidden" as const }, handler: waits } };
    const process = await Process.started({ tools });
    const { body } = await process.runInline("tool");
    expect(JSON.parse(body)).toMatchObject({
      message:
        'Tool "tool" never runs as a task, so no event can be sent to it. Remove task: "forbidden" from it.',
    });
  });

  it("without a task yet gets one", async () => {
    const tools = { tool: { config: { promoteAfterMs: 60_000 }, handler: waits } };
    const process = await Process.started({ tools });
    const call = { generation: "2026-07-28", tool: "tool", arguments: {}, principal: null } as const;
    const origin = { capabilities: {} };
    const end = await process.runtime.call({ ...call, origin }, new AbortController().signal);
    if (end.kind !== "task") throw new Error("It was answered at once.");
    const { id } = end.snapshot.task;
    await waiting(process, id);
    await paid(process, id, 1);
    expect(bodyOf(await process.ended(id))).toEqual(text("1 in attempt 1"));
  });
});

it("a handler that is tried again gets the events that it had, and gives up again what it gave up", async () => {
  const tool: Handler = async (_, task) => {
    const late = await ended(task.waitForEvent("late", "refused", { timeoutMs: 0 }));
    const value = await task.waitForEvent("wait", "paid");
    await task.step(`attempt ${task.attempt}`, () => 1);
    if (task.attempt === 1) throw new Error("no");
    return text(`${late} ${String(value)}`);
  };
  const config = { retry: { attempts: 2, backoff: { firstMs: 10 } } };
  const process = await Process.started({ tools: { tool: { config, handler: tool } } });
  const id = await process.callId("tool");
  await process.clock.advance(0);
  await process.journalHas(id, "wait");
  await paid(process, id, "one");
  await process.journalHas(id, "attempt 1");
  for (const name of ["paid", "refused"]) await process.runtime.sendEvent(id, { name, value: "two" });
  await process.clock.advance(10);
  expect(bodyOf(await process.ended(id))).toEqual(text("event_timeout one"));
});

describe("a race with an event", () => {
  const race =
    (hangs: boolean): Handler =>
    async (_, task) => {
      const winner = await Promise.race([
        task.waitForEvent("a", "left").then(() => "left"),
        task.waitForEvent("b", "right").then(() => "right"),
        task.sleep("s", 1_000).then(() => "sleep"),
      ]);
      await task.step(`saw ${winner}`, () => winner);
      return hangs ? never : text(winner);
    };

  it.each(["left", "right", "sleep"])("takes the same branch on a replay: %s", async (winner) => {
    const first = await Process.started({ tools: { race: race(true) } });
    const id = await first.callId("race");
    await waitsTwice(first, id);
    if (winner === "sleep") await first.clock.advance(1_000);
    else await first.runtime.sendEvent(id, { name: winner });
    await first.journalHas(id, `saw ${winner}`);
    for (const name of ["left", "right"]) await first.runtime.sendEvent(id, { name });
    await first.clock.advance(1_000);
    const second = await first.crash({ tools: { race: race(false) } });
    expect(bodyOf(await second.ended(id))).toEqual(text(winner));
  });

  async function waitsTwice(process: Process, id: string): Promise<void> {
    await process.until(id, ({ task }) => task.openWaits === 2 && task.waiting);
  }

  it("of two that nobody had seen goes to the first that came", async () => {
    const setup = { tools: { race: race(false) } };
    const first = await Process.started(setup);
    const id = await first.callId("race");
    await waitsTwice(first, id);
    const second = await first.crash(setup);
    await second.runtime.sendEvent(id, { name: "right" });
    await second.runtime.sendEvent(id, { name: "left" });
    expect(bodyOf(await second.ended(id))).toEqual(text("right"));
  });
});
