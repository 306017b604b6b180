import { describe, expect, it } from "vitest";
import type { HoldfastError } from "../../src/task/fault.ts";
import { NonRetryableError } from "../../src/runtime/tool/tool-errors.ts";
import type { PollOptions } from "../../src/runtime/tool/called-tool.ts";
import { wholeJournal } from "../../src/testing/sample-task.ts";
import { bodyOf, Process, text, type Handler, type Setup } from "./harness.ts";
import { SlotGauge } from "./slot-gauge.ts";
import { Held } from "./watched-store.ts";

const secondMs = 1_000;
const exact = { every: 15 * secondMs, jitter: 0 };
const away = new Error("away");

/** A tool that polls what `look` finds at each look, counted from 1. */
function polls(look: (count: number) => unknown, options: PollOptions, seen: number[] = []): Handler {
  return async (_, task) => {
    const found = await task.poll<unknown>("job", options, () => {
      seen.push(seen.length + 1);
      return look(seen.length);
    });
    return text(String(JSON.stringify(found)));
  };
}

const readyAt =
  (last: number) =>
  (count: number): string | undefined =>
    count < last ? undefined : `ready at ${count}`;

async function started(handler: Handler, setup: Partial<Setup> = {}): Promise<[Process, string]> {
  const process = await Process.started({ tools: { polls: handler }, ...setup });
  return [process, await process.callId("polls")];
}

const entryOf = (process: Process, id: string) => process.store.journalEntry(id, "job");

const failedWith = (message: unknown): object => ({
  isError: true,
  content: [{ type: "text", text: message }],
});

describe("task.poll", () => {
  it("looks until there is something, in a single entry that says how often and when", async () => {
    const seen: number[] = [];
    const [process, id] = await started(polls(readyAt(4), exact, seen));
    const begunAt = process.clock.now();
    for (let looks = 1; looks < 4; looks++) {
      await process.until(id, ({ task }) => task.waiting);
      const [entry, ...others] = await wholeJournal(process.store, id);
      expect(others).toEqual([]);
      expect(entry).toMatchObject({ key: "job", kind: "step", tries: 0, error: null, begunAt, doneAt: null });
      expect(entry?.deadlineAt).toBe(process.clock.now() + 15 * secondMs);
      expect(JSON.parse(entry?.value ?? "")).toEqual({ looks, lookedAt: process.clock.now(), lastAt: null });
      expect((await process.get(id)).task).toMatchObject({ waitsFor: "sleep" });
      await process.clock.advance(15 * secondMs - 1);
      expect(seen).toHaveLength(looks);
      await process.clock.advance(1);
    }
    expect(bodyOf(await process.ended(id))).toEqual(text('"ready at 4"'));
    expect(await entryOf(process, id)).toMatchObject({ value: '"ready at 4"', deadlineAt: null });
  });

  it.each<[string, (count: number) => unknown, PollOptions["until"], unknown]>([
    ["null", () => null, undefined, null],
    ["false", () => false, undefined, false],
    ["what `until` accepts", (count) => count, (value) => value === 3, 3],
    ["undefined, where `until` accepts it", () => undefined, (value) => value === undefined, undefined],
  ])("takes %s for an end", async (_, look, until, found) => {
    const [process, id] = await started(polls(look, { ...exact, ...(until && { until }) }));
    for (let round = 0; round < 3; round++) await process.clock.advance(15 * secondMs);
    expect(bodyOf(await process.ended(id))).toEqual(text(String(JSON.stringify(found))));
  });

  it("takes no slot between its looks", async () => {
    const gauge = new SlotGauge();
    const tools = { polls: polls(readyAt(9), exact), gauge: gauge.handler };
    const [process, id] = await started(tools.polls, { tools, options: { concurrency: 1 } });
    await process.until(id, ({ task }) => task.waiting);
    expect(await gauge.free(process)).toBe(1);
  });

  it("looks less and less often, as its options say, and not with others", async () => {
    const options = { every: 1_000, factor: 2, maxEvery: 5_000, jitter: 0.5 };
    const [process, id] = await started(polls(readyAt(99), options));
    for (const full of [1_000, 2_000, 4_000, 5_000, 5_000]) {
      await process.until(id, ({ task }) => task.waiting);
      const pause = ((await entryOf(process, id))?.deadlineAt ?? 0) - process.clock.now();
      expect(pause).toBeGreaterThanOrEqual(full / 2);
      expect(pause).toBeLessThanOrEqual(full);
      await process.clock.advance(pause);
    }
  });

  it.each(["crash", "restart"] as const)("goes on after a %s, and does not look earlier", async (end) => {
    const seen: number[] = [];
    const setup = { tools: { polls: polls(readyAt(3), exact, seen) } };
    let process = await Process.started(setup);
    const id = await process.callId("polls");
    for (let looks = 1; looks < 3; looks++) {
      await process.until(id, ({ task }) => task.waiting);
      process = await process[end](setup);
      await process.clock.advance(15 * secondMs - 1);
      expect(seen).toHaveLength(looks);
      await process.clock.advance(1);
    }
    expect(bodyOf(await process.ended(id))).toEqual(text('"ready at 3"'));
    process = await process[end](setup);
    expect(seen).toHaveLength(3);
  });

  it("is replayed as what it found", async () => {
    const seen: number[] = [];
    const handler: Handler = async (args, task) => {
      const found = await polls(readyAt(2), exact, seen)(args, task);
      await task.sleep("nap", 3_600_000);
      return found;
    };
    const [process, id] = await started(handler, { options: { maxParkedFrames: 0 } });
    await process.clock.advance(15 * secondMs);
    await process.clock.advance(3_600_000);
    expect(bodyOf(await process.ended(id))).toEqual(text('"ready at 2"'));
    expect(seen).toEqual([1, 2]);
  });

  it("passes in a direct run too, and makes a task of a call that was to be answered directly", async () => {
    const tool = { config: { promoteAfterMs: 60_000 }, handler: polls(readyAt(2), exact) };
    const process = await Process.started({ tools: { polls: tool, direct: polls(readyAt(2), exact) } });
    const running = process.runInline("direct");
    await process.clock.advance(15 * secondMs);
    expect(JSON.parse((await running).body)).toEqual(text('"ready at 2"'));
    const call = { generation: "2026-07-28", tool: "polls", arguments: {}, principal: null } as const;
    const end = await process.runtime.call(
      { ...call, origin: { capabilities: {} } },
      new AbortController().signal,
    );
    if (end.kind !== "task") throw new Error("It was answered directly.");
    await process.clock.advance(15 * secondMs);
    expect(bodyOf(await process.ended(end.snapshot.task.id))).toEqual(text('"ready at 2"'));
  });

  it("ends with a cancel", async () => {
    const [process, id] = await started(polls(readyAt(9), exact));
    await process.until(id, ({ task }) => task.waiting);
    await process.cancel(id);
    expect((await process.ended(id)).task.state).toBe("cancelled");
  });

  it("says nothing to listeners of looks that find nothing", async () => {
    const [process, id] = await started(polls(readyAt(3), exact), { onEvent: true });
    for (let round = 0; round < 3; round++) await process.clock.advance(15 * secondMs);
    await process.ended(id);
    expect(process.events.filter(({ type }) => type === "task.step")).toMatchObject([{ outcome: "done" }]);
  });
});

describe("a poll that an earlier attempt has begun", () => {
  it("does not look any more once its handler has returned", async () => {
    const looks: string[] = [];
    const handler: Handler = async (_, task) => {
      const { attempt } = task;
      const poll = task.poll("job", exact, () => void looks.push(`by attempt ${attempt}`));
      const found = await Promise.race([poll, task.waitForEvent("go", "go").then(() => "gone")]);
      return text(String(found));
    };
    const held = new Held("journalEnds");
    const first = await Process.started({ tools: { polls: handler } });
    const id = await first.callId("polls");
    await first.until(id, ({ task }) => task.waiting);
    const second = await first.crash({ tools: { polls: handler }, before: held.before });
    const advanced = second.clock.advance(15 * secondMs);
    await held.reached; // it reads what it has seen, and is about to look
    await second.runtime.sendEvent(id, { name: "go" });
    expect(bodyOf(await second.ended(id))).toEqual(text("gone"));
    held.open();
    await advanced;
    expect(looks).toEqual(["by attempt 1"]);
    expect(second.errors).toEqual([]);
  });

  it("goes on under its old name, with its time and what it has seen", async () => {
    const named = (name: string, renames: Readonly<Record<string, string>>): Handler => {
      return async (_, task) => {
        task.renamed(renames);
        return text(String(await task.poll(name, { ...exact, timeoutMs: 40 * secondMs }, () => undefined)));
      };
    };
    const first = await Process.started({ tools: { polls: named("job", {}) } });
    const id = await first.callId("polls");
    await first.clock.advance(15 * secondMs);
    expect(JSON.parse((await entryOf(first, id))?.value ?? "")).toMatchObject({ looks: 2 });
    const second = await first.crash({ tools: { polls: named("work", { job: "work" }) } });
    await second.clock.advance(15 * secondMs);
    expect(JSON.parse((await entryOf(second, id))?.value ?? "")).toMatchObject({ looks: 3 });
    await second.clock.advance(10 * secondMs);
    expect(bodyOf(await second.ended(id))).toEqual(failedWith(expect.stringContaining("looked 4 times")));
  });
});

describe("a look that fails", () => {
  const backoff = { firstMs: 1_000, maxMs: 1_000 };
  const failsAt =
    (...counts: readonly number[]) =>
    (count: number): unknown => {
      if (counts.includes(count)) throw away;
      return readyAt(6)(count);
    };

  it("ends the poll, unless retries allow it", async () => {
    const [process, id] = await started(polls(failsAt(2), exact));
    await process.clock.advance(15 * secondMs);
    expect(bodyOf(await process.ended(id))).toEqual(failedWith("away"));
  });

  it("is tried again after its backoff, and only those in a row count", async () => {
    const seen: number[] = [];
    const [process, id] = await started(polls(failsAt(2, 3, 5), { ...exact, retries: 2, backoff }, seen));
    await process.clock.advance(15 * secondMs);
    expect(await entryOf(process, id)).toMatchObject({ tries: 1, error: expect.stringContaining("away") });
    expect(JSON.parse((await entryOf(process, id))?.value ?? "")).toMatchObject({ looks: 2 });
    expect((await process.get(id)).task).toMatchObject({ waitsFor: "retry" });
    await process.clock.advance(2 * secondMs);
    expect(seen).toEqual([1, 2, 3, 4]);
    expect(await entryOf(process, id)).toMatchObject({ tries: 0, error: null });
    for (let round = 0; round < 3; round++) await process.clock.advance(15 * secondMs);
    expect(bodyOf(await process.ended(id))).toEqual(text('"ready at 6"'));
  });

  it("keeps what earlier looks have come to over a crash", async () => {
    const setup = { tools: { polls: polls(failsAt(2), { ...exact, retries: 1, backoff }) } };
    const first = await Process.started(setup);
    const id = await first.callId("polls");
    await first.clock.advance(15 * secondMs);
    await first.until(id, ({ task }) => task.waitsFor === "retry");
    const next = await first.crash(setup);
    await next.clock.advance(secondMs);
    expect(JSON.parse((await entryOf(next, id))?.value ?? "")).toMatchObject({ looks: 3 });
  });

  it("is one that takes too long", async () => {
    const handler: Handler = async (_, task) => {
      await task.poll("job", { ...exact, lookTimeoutMs: 500 }, ({ signal }) => rejection(signal));
      return text("never");
    };
    const [process, id] = await started(handler);
    await process.clock.advance(500);
    expect(bodyOf(await process.ended(id))).toEqual(
      failedWith(expect.stringContaining("longer than 500 ms")),
    );
  });

  it("is one whose `until` gives no answer", async () => {
    const until: unknown = async () => true;
    const [process, id] = await started(polls(() => 1, { ...exact, until: until as () => boolean }));
    expect(bodyOf(await process.ended(id))).toEqual(failedWith(expect.stringContaining("true or false")));
  });
});

function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}

describe("a poll whose time is over", () => {
  const short = { ...exact, timeoutMs: 40 * secondMs };

  /** How the poll of a handler ended: with what it found, or with this code and cause. */
  const caught =
    (look: (count: number) => unknown, options: PollOptions, seen: number[] = []): Handler =>
    async (args, task) => {
      try {
        return await polls(look, options, seen)(args, task);
      } catch (error) {
        const { code, cause } = error as HoldfastError;
        return text(`${code} ${(cause as Error | undefined)?.message ?? ""}`);
      }
    };

  it("looks for the last time then, and rejects with a named error", async () => {
    const seen: number[] = [];
    const [process, id] = await started(caught(readyAt(9), short, seen));
    for (const [ms, looks] of [
      [30_000, 3],
      [9_999, 3],
      [1, 4],
    ] as const) {
      await process.clock.advance(ms);
      expect(seen).toHaveLength(looks);
    }
    expect(bodyOf(await process.ended(id))).toEqual(text("poll_timeout "));
    expect(await entryOf(process, id)).toMatchObject({
      value: null,
      error: expect.stringContaining("4 times"),
    });
  });

  it("finds what came with the last look", async () => {
    const [process, id] = await started(caught(readyAt(4), short));
    await process.clock.advance(40 * secondMs);
    expect(bodyOf(await process.ended(id))).toEqual(text('"ready at 4"'));
  });

  it("rejects so if the last look fails, with its error as the cause", async () => {
    const options = { ...short, retries: Infinity, backoff: { firstMs: 60_000 } };
    const look = (count: number): unknown => {
      if (count > 2) throw away;
      return undefined;
    };
    const [process, id] = await started(caught(look, options));
    await process.clock.advance(40 * secondMs);
    expect(bodyOf(await process.ended(id))).toEqual(text("poll_timeout away"));
  });

  it("rejects with a last error that says that it is final", async () => {
    const look = (count: number): unknown => {
      if (count === 4) throw new NonRetryableError("gone");
      return undefined;
    };
    const [process, id] = await started(polls(look, { ...short, retries: Infinity }));
    await process.clock.advance(40 * secondMs);
    expect(bodyOf(await process.ended(id))).toEqual(failedWith("gone"));
  });

  it("counts from the first look, whatever came between", async () => {
    const setup = { tools: { polls: caught(readyAt(9), short) } };
    const first = await Process.started(setup);
    const id = await first.callId("polls");
    await first.clock.advance(20 * secondMs);
    const next = await first.crash(setup);
    await next.clock.advance(20 * secondMs);
    expect(bodyOf(await next.ended(id))).toEqual(text("poll_timeout "));
  });

  it.each([
    ["whose time is over", { every: 1_000, timeoutMs: 3_600_000 }],
    ["whose next look comes", { every: 3_600_000 }],
  ])("rejects at once where it is a poll %s after its task", async (_, options) => {
    const tool = { config: { ttlMs: 60_000 }, handler: caught(readyAt(9), options) };
    const [process, id] = await started(tool.handler, { tools: { polls: tool } });
    expect(bodyOf(await process.ended(id))).toEqual(text("outlives_task "));
  });
});

it.each<[object, string]>([
  [{}, "task.poll needs every: a length of time above 0"],
  [{ every: 0 }, "every must be a length of time above 0"],
  [{ every: 1, jitter: 2 }, "jitter must be"],
  [{ every: 1, factor: 0.5 }, "factor must be a number of at least 1"],
  [{ every: 1, until: true }, "until must be a function"],
  [{ every: 1, timeout: 5 }, "Did you mean timeoutMs?"],
  [{ every: 1, backoff: { firstMs: 10, maxMs: 5 } }, "maxMs is 5, which is less than firstMs (10)"],
])("refuses %j, and says why", async (options, message) => {
  const [process, id] = await started(polls(readyAt(1), options as PollOptions));
  expect(bodyOf(await process.ended(id))).toMatchObject({ message: expect.stringContaining(message) });
});
