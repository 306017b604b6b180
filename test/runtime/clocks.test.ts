import { describe, expect, it } from "vitest";
import { StoreClock } from "../../src/runtime/clock.ts";
import { createRuntime } from "../../src/runtime/create-runtime.ts";
import { ServerEvents } from "../../src/runtime/events/server-events.ts";
import type { ServerEvent } from "../../src/runtime/events/server-event.ts";
import { Registry } from "../../src/runtime/tool/registry.ts";
import { CrashableStore } from "../../src/testing/crashable-store.ts";
import { FakeClock, rest } from "../../src/testing/clocks.ts";
import { bodyOf, nobody, Process, text, type Handler, type Setup } from "./harness.ts";
import { type BeforeCall, storeFailed } from "./watched-store.ts";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };

const ends =
  (code: string) =>
  (error: unknown): void => {
    if ((error as { code?: string }).code !== code) throw error;
  };

/** What lasts four seconds, from the start of the handler. */
const spans: Record<string, Setup["tools"][string]> = {
  sleep: async (_, task) => {
    await task.sleep("nap", 4_000);
    return text("done");
  },
  retry: async (_, task) => {
    let runs = 0;
    await task.step("flaky", { retries: 1, backoff: { firstMs: 8_000 } }, () => {
      if (++runs === 1) throw new Error("not yet");
    });
    return text("done");
  },
  question: async (_, task) => {
    await task.elicit("q", question, { timeoutMs: 4_000 }).catch(ends("input_timeout"));
    return text("done");
  },
  event: async (_, task) => {
    await task.waitForEvent("e", "paid", { timeoutMs: 4_000 }).catch(ends("event_timeout"));
    return text("done");
  },
  step: async (_, task) => {
    await task
      .step("s", { timeoutMs: 4_000 }, () => new Promise(() => undefined))
      .catch(ends("step_timeout"));
    return text("done");
  },
  work: { config: { timeoutMs: 4_000 }, handler: () => new Promise(() => undefined) },
};

/** Pauses before retries are up to a half shorter than asked for. */
const shortestMs = 3_900;

describe("a clock that is set", () => {
  it.each([
    ["ahead", day],
    ["back", -day],
  ])("%s changes no span of a handler that runs", async (_, ms) => {
    const process = await Process.started({ tools: spans, options: { ttlMs: 4 * day } });
    const ids = await Promise.all(Object.keys(spans).map((tool) => process.callId(tool)));
    await rest();
    process.clock.jump(ms);
    await process.clock.advance(shortestMs);
    for (const id of ids) expect((await process.get(id)).task).toMatchObject({ finishedAt: null });
    await process.clock.advance(8_000);
    for (const id of ids) await process.ended(id);
  });
});

/** What has stored when it goes on, or when it ends: the time is in its row, and nothing of it is in memory. */
const stored: Record<string, Setup["tools"][string]> = {
  // Under a limit, a handler that waits leaves memory after a second.
  sleep: { config: { concurrency: 1 }, handler: spans["sleep"] as Handler },
  question: { config: { concurrency: 1 }, handler: spans["question"] as Handler },
  event: { config: { concurrency: 1 }, handler: spans["event"] as Handler },
  retryStep: { config: { concurrency: 1 }, handler: spans["retry"] as Handler },
  retry: {
    config: { retry: { attempts: 2, backoff: { firstMs: 8_000 } } },
    handler: async (_, task) => {
      if (task.attempt === 1) throw new Error("not yet");
      return text("done");
    },
  },
  runs: { config: { ttlMs: 4_000 }, handler: () => new Promise(() => undefined) },
};

describe("a clock that is set back", () => {
  it.each([
    ["before they leave memory", 500],
    ["after", 1_500],
  ])("%s lets waits of a stored length end in time", async (_, ms) => {
    const process = await Process.started({ tools: stored, options: { ttlMs: 4 * day } });
    const ids = await Promise.all(Object.keys(stored).map((tool) => process.callId(tool)));
    await rest();
    await process.clock.advance(ms);
    process.clock.jump(-day);
    await process.clock.advance(1_000);
    await process.clock.advance(0);
    const unfinished = await Promise.all(ids.map(async (id) => (await process.get(id)).task));
    // What a handler's own next run waits for is not in its journal: it comes at once.
    for (const { tool, finishedAt } of unfinished) if (tool !== "retry") expect(finishedAt).toBeNull();
    for (let passed = 0; passed < 12; passed++) await process.clock.advance(1_000);
    const states = await Promise.all(ids.map(async (id) => (await process.ended(id)).task.state));
    expect(states).toEqual(ids.map(() => "settled"));
  });

  it.each(["wake", "expire"] as const)(
    "lets them end in time also if the first %s fails then",
    async (call) => {
      let left = 0;
      const before: BeforeCall = (asked) => {
        if (asked !== call || left === 0) return;
        left -= 1;
        throw storeFailed();
      };
      const process = await Process.started({ tools: stored, options: { ttlMs: 4 * day }, before });
      const id = await process.callId(call === "wake" ? "sleep" : "runs");
      await rest();
      await process.clock.advance(1_500);
      process.clock.jump(-day);
      left = 1;
      for (let passed = 0; passed < 12; passed++) await process.clock.advance(1_000);
      expect([left, (await process.get(id)).task.state]).toEqual([0, "settled"]);
    },
  );

  it("twice, and a wait that began between, end in time too", async () => {
    const process = await Process.started({ tools: stored, options: { ttlMs: 4 * day } });
    const first = await process.callId("sleep");
    await rest();
    await process.clock.advance(1_500);
    process.clock.jump(-hour);
    await process.clock.advance(1_000);
    const second = await process.callId("question");
    await rest();
    await process.clock.advance(500);
    process.clock.jump(-day);
    for (let passed = 0; passed < 8; passed++) await process.clock.advance(1_000);
    for (const id of [first, second]) expect((await process.ended(id)).task.state).toBe("settled");
  });
});

it("reads no task that is due once more where the clock was only set back", async () => {
  const reads: string[] = [];
  const before: BeforeCall = (call) => void reads.push(call);
  const process = await Process.started({
    tools: { waits: { config: { ttlMs: hour }, handler: () => new Promise(() => undefined) } },
    before,
  });
  process.clock.jump(-2 * minute);
  await process.clock.advance(5_000);
  await process.callId("waits");
  reads.length = 0;
  await process.clock.advance(hour + minute);
  expect(reads).toContain("expire");
  expect(reads.slice(0, reads.indexOf("expire"))).not.toContain("get");
});

describe("a clock that is set ahead", () => {
  it.each([
    ["before they leave memory", 500],
    ["after", 1_500],
  ])("%s ends nothing of a stored length early", async (_, ms) => {
    const { retryStep: __, retry: ___, ...lasting } = stored; // a further try may come early
    const poll: Handler = async (_arguments, task) => {
      const never = (): Promise<never> =>
        task.poll("p", { every: 3_000, timeoutMs: 4_000 }, () => undefined as never);
      await never().catch(ends("poll_timeout"));
      return text("done");
    };
    const tools = { ...lasting, poll: { config: { concurrency: 1 }, handler: poll } };
    const process = await Process.started({ tools, options: { ttlMs: 4 * hour } });
    const ids = await Promise.all(Object.keys(tools).map((tool) => process.callId(tool)));
    await rest();
    await process.clock.advance(ms);
    process.clock.jump(day);
    await process.clock.advance(1_000);
    await process.clock.advance(0);
    for (const id of ids) expect((await process.get(id)).task.finishedAt).toBeNull();
    for (let passed = 0; passed < 8; passed++) await process.clock.advance(1_000);
    for (const id of ids) expect((await process.ended(id)).task.state).toBe("settled");
  });

  it("leaves a waiting task its time, and a question or an event can still come", async () => {
    const waits: Handler = async (_, task) => {
      const answered = task.elicit("q", question, { timeoutMs: hour });
      const happened = task.waitForEvent("e", "paid", { timeoutMs: hour });
      await Promise.all([answered, happened]);
      await task.sleep("nap", hour);
      return text("both came");
    };
    const tools = { waits: { config: { concurrency: 1 }, handler: waits } };
    const process = await Process.started({ tools, options: { ttlMs: 3 * hour } });
    const id = await process.callId("waits");
    await process.asked(id);
    await process.clock.advance(2_000);
    process.clock.jump(day);
    for (let passed = 0; passed < 5; passed++) await process.clock.advance(minute);
    await process.answer(id, "q", { action: "accept", content: {} });
    await process.runtime.sendEvent(id, { name: "paid" });
    await rest();
    for (let passed = 0; passed < 62; passed++) await process.clock.advance(minute);
    expect(bodyOf(await process.ended(id))).toEqual(text("both came"));
  });

  it("lets a task that is left end in time, and one that begins then", async () => {
    const hangs = { config: { ttlMs: 2 * hour }, handler: () => new Promise<never>(() => undefined) };
    const process = await Process.started({ tools: { hangs } });
    const before = await process.callId("hangs");
    await process.clock.advance(hour);
    process.clock.jump(day);
    await process.clock.advance(1_000);
    const after = await process.callId("hangs");
    for (let passed = 0; passed < 58; passed++) await process.clock.advance(minute);
    expect((await process.get(before)).task.finishedAt).toBeNull();
    await process.clock.advance(2 * minute);
    expect((await process.ended(before)).task.state).toBe("settled");
    expect((await process.get(after)).task.finishedAt).toBeNull();
    for (let passed = 0; passed < 60; passed++) await process.clock.advance(minute);
    expect((await process.ended(after)).task.state).toBe("settled");
  });

  it("and set right again lets a task that rests end in time", async () => {
    const handler: Handler = (_, task) => task.elicit("q", question).then(() => text("done"));
    const asks = { config: { ttlMs: hour, concurrency: 1 }, handler };
    const process = await Process.started({ tools: { asks } });
    const id = await process.callId("asks");
    await process.asked(id);
    await process.clock.advance(2_000);
    process.clock.jump(day);
    for (let passed = 0; passed < 10; passed++) await process.clock.advance(minute);
    process.clock.jump(-day);
    for (let passed = 0; passed < 50; passed++) await process.clock.advance(minute);
    await process.clock.advance(2_000);
    expect(await process.store.get(id)).toMatchObject({ state: "settled" });
  });

  it("keeps a result for its time, and the next one too", async () => {
    const process = await Process.started({
      tools: { quick: () => text("done") },
      options: { keepMs: 2 * hour },
    });
    const before = await process.callId("quick");
    await process.ended(before);
    await process.clock.advance(hour);
    process.clock.jump(30 * day);
    await process.clock.advance(minute);
    const after = await process.callId("quick");
    await process.ended(after);
    await process.clock.advance(58 * minute);
    expect(bodyOf(await process.get(before))).toEqual(text("done"));
    await process.clock.advance(2 * minute);
    await expect(process.get(before)).rejects.toMatchObject({ code: "unknown_task" });
    expect(bodyOf(await process.get(after))).toEqual(text("done"));
    const listed = () => process.runtime.list(nobody, { limit: 10 });
    expect((await listed()).map(({ id }) => id)).toEqual([after]);
    await process.clock.advance(hour);
    await expect(process.get(after)).rejects.toMatchObject({ code: "unknown_task" });
    expect(await listed()).toEqual([]);
  });
});

it.each([
  ["ahead", hour, 2_000],
  ["back", -hour, 2 * hour],
])("a sleep until a date follows a clock that is set %s", async (_, jump, ms) => {
  const until: Handler = async (_arguments, task) => {
    await task.sleep("until", new Date(process.clock.now() + hour));
    return text("done");
  };
  const process = await Process.started({ tools: { until }, options: { ttlMs: 4 * day } });
  const id = await process.callId("until");
  await rest();
  process.clock.jump(jump);
  await process.clock.advance(1_000);
  await process.clock.advance(0);
  expect((await process.get(id)).task.finishedAt === null).toBe(jump < 0);
  await process.clock.advance(ms - 5_000);
  expect((await process.get(id)).task.finishedAt === null).toBe(jump < 0);
  await process.clock.advance(10_000);
  await process.ended(id);
});

it("a machine that was suspended ends what is over by then once it continues", async () => {
  const process = await Process.started({ tools: spans });
  const ids = await Promise.all(["sleep", "question"].map((tool) => process.callId(tool)));
  await rest();
  process.clock.suspend(hour);
  await process.clock.advance(1_000);
  await process.clock.advance(0);
  for (const id of ids) await process.ended(id);
});

/** A process on a machine whose clock is wrong, and a database that tells the right time. */
class Skewed {
  readonly machine = new FakeClock();
  readonly events: ServerEvent[] = [];
  readonly #zero = this.machine.now();
  readonly store = new CrashableStore().store;
  readonly runtime;

  constructor(offsetMs: number, tools: Record<string, Handler>) {
    const { machine: clock, store } = this;
    const registry = new Registry();
    for (const [name, handler] of Object.entries(tools)) registry.add(name, { ttlMs: 2 * hour }, handler);
    const renew = () => store.renew();
    const onError = (error: unknown): void => void this.events.push(error as ServerEvent);
    this.runtime = createRuntime({
      store: { ...store, renew: async () => ({ ...(await renew()), now: this.now() }) },
      registry,
      clock,
      onError,
      events: new ServerEvents({ listeners: [(event) => void this.events.push(event)], clock, onError }),
    });
    clock.jump(offsetMs);
  }

  /** By the database. */
  now(): number {
    return this.#zero + this.machine.elapsed();
  }

  get offsets(): readonly unknown[] {
    return this.events.filter(({ type }) => type === "clock.off" || type === "clock.right");
  }
}

describe("where the store has a clock", () => {
  it.each([hour, -hour])("what is stored is judged by it, on a machine that is %d ms off", async (ms) => {
    const nap: Handler = async (_, task) => {
      await task.sleep("nap", 10_000);
      return text("slept");
    };
    const skewed = new Skewed(ms, { nap, hangs: () => new Promise(() => undefined) });
    const { runtime, machine } = skewed;
    await runtime.start();
    const call = { generation: nobody.generation, arguments: {}, principal: null };
    const origin = { capabilities: {} };
    const { task } = await runtime.create({ ...call, origin, tool: "nap" });
    const hanging = await runtime.create({ ...call, origin, tool: "hangs" });
    expect(task.createdAt).toBe(skewed.now());
    await rest();
    expect((await skewed.store.journalEntry(task.id, "nap"))?.deadlineAt).toBe(skewed.now() + 10_000);
    machine.jump(-ms);
    machine.jump(day);
    await machine.advance(9_999);
    expect((await runtime.get(task.id, nobody)).task.finishedAt).toBeNull();
    await machine.advance(1);
    expect((await runtime.get(task.id, nobody)).task.finishedAt).toBe(skewed.now());
    await machine.advance(2 * hour - 20_000);
    expect((await runtime.get(hanging.task.id, nobody)).task.finishedAt).toBeNull();
    await machine.advance(10_000);
    expect((await runtime.get(hanging.task.id, nobody)).task.finishedAt).toBe(skewed.now());
  });

  it("a machine that is more than five seconds off is an event, and one that is right again", async () => {
    const skewed = new Skewed(5_000, {});
    const { runtime, machine } = skewed;
    await runtime.start();
    await machine.advance(1_000);
    expect(skewed.offsets).toEqual([]);
    machine.jump(1);
    await machine.advance(1_000);
    await machine.advance(1_000);
    const off = { type: "clock.off", offsetMs: -5_001 };
    expect(skewed.offsets).toEqual([expect.objectContaining(off)]);
    machine.jump(-5_000);
    await machine.advance(1_000);
    const right = { type: "clock.right", offsetMs: -1 };
    expect(skewed.offsets).toEqual([expect.objectContaining(off), expect.objectContaining(right)]);
    await runtime.stop();
  });
});

describe("the clock of a store", () => {
  it("stays as it is while what the store tells allows it, and follows it otherwise", async () => {
    const machine = new FakeClock();
    const clock = new StoreClock(machine);
    const start = machine.now();
    await machine.advance(100);
    clock.look(start + 40, 0);
    expect([clock.now(), clock.offsetMs]).toEqual([start + 100, 0]);
    clock.look(start + 240, 20);
    expect(clock.now()).toBe(start + 240);
    clock.look(start + 200, 0);
    expect(clock.now()).toBe(start + 240);
    clock.look(start + 20, 100);
    expect([clock.now(), clock.offsetMs]).toEqual([start + 20, -80]);
  });

  it.each([hour, -hour])("has whole times after a jump of %d ms, as stores require", async (ms) => {
    const machine = new FakeClock();
    const zero = machine.now();
    let set = 0;
    machine.now = () => Math.floor(zero + machine.elapsed()) + set;
    const clock = new StoreClock(machine);
    const begunAt = clock.now();
    machine.suspend(0.37); // the time that has elapsed is not whole
    set = ms;
    clock.look(undefined, machine.elapsed());
    await machine.advance(1_000);
    const times = [
      clock.now(),
      clock.pastForAll,
      clock.nowSince(begunAt),
      clock.afterJumps(begunAt, begunAt),
    ];
    expect(times.filter((time) => !Number.isInteger(time))).toEqual([]);
    expect(clock.afterJumps(begunAt, begunAt)).toBe(begunAt + ms);
  });

  it("judges spans from before and after very many jumps, which it does not all keep", async () => {
    const machine = new FakeClock();
    const clock = new StoreClock(machine);
    const before = clock.now();
    let total = 0;
    for (let jump = 1; jump <= 2_000; jump++) {
      await machine.advance(minute);
      machine.jump(jump * minute);
      total += jump * minute;
      clock.now();
    }
    expect([clock.afterJumps(before + day, before) - before - day, clock.wasSetAhead]).toEqual([total, true]);
    const after = clock.now();
    expect(clock.afterJumps(after + day, after)).toBe(after + day);
  });

  it("tells of jumps either way and of time without timers, and of nothing else", async () => {
    const machine = new FakeClock();
    const clock = new StoreClock(machine);
    let jumps = 0;
    const stop = clock.onJump(() => jumps++);
    const look = (): void => clock.look(undefined, machine.elapsed());
    look();
    await machine.advance(1_000);
    machine.jump(999);
    look();
    expect(jumps).toBe(0);
    machine.jump(1_000);
    look();
    machine.jump(-1_000);
    look();
    expect(jumps).toBe(2);
    machine.suspend(minute);
    look();
    expect(jumps).toBe(3);
    stop();
    machine.jump(day);
    look();
    expect(jumps).toBe(3);
  });
});
