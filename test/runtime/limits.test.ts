import { describe, expect, it, vi } from "vitest";
import { StoreClock } from "../../src/runtime/clock.ts";
import { LimitLine } from "../../src/runtime/limits/limit-line.ts";
import type { LimitName } from "../../src/runtime/limits/limit-name.ts";
import type { LimitStore } from "../../src/store/limits.ts";
import type { TaskSnapshot } from "../../src/task/record.ts";
import { bodyOf, Process, text, type Handler, type Setup } from "./harness.ts";
import { SlotGauge } from "./slot-gauge.ts";
import { CrashableStore } from "../../src/testing/crashable-store.ts";
import type { TaskStore } from "../../src/store/store.ts";
import { FakeClock, rest } from "../../src/testing/clocks.ts";
import { memoryDatabase } from "../../src/store/sqlite/memory-store.ts";
import { watchedStore } from "./watched-store.ts";

/** Steps that end when the test lets them. */
class Gate {
  readonly begun: string[] = [];
  readonly #open = new Map<string, () => void>();

  /** A tool of one such step under a limit. */
  tool(limit: LimitName): Handler {
    return async ({ name }, task) => {
      await task.step("work", { limit }, async ({ signal }) => {
        this.begun.push(String(name));
        await new Promise<void>((resolve, reject) => {
          this.#open.set(String(name), resolve);
          signal.addEventListener("abort", () => reject(signal.reason as Error));
        });
      });
      return text(`${String(name)} done`);
    };
  }

  end(name: string): void {
    this.#open.get(name)?.();
  }
}

const limits = { api: { concurrency: 1 } };

const waits = ({ task }: TaskSnapshot): boolean => task.waitsFor === "limit" && task.waiting;

async function call(process: Process, tool: string, name: string, principal: string | null = null) {
  return process.callId(tool, { arguments: { name }, principal });
}

const of = (principal: string) => ({ generation: "2026-07-28", principal }) as const;

/** Stores that tell of each question about a limit. */
function counting(asked: () => void): (inner: TaskStore) => TaskStore {
  return (inner) => {
    const { limits: inLine } = inner;
    if (inLine === undefined) throw new Error("no limits");
    const counted: LimitStore["call"] = (about) => {
      asked();
      return inLine.call(about);
    };
    return Object.assign(watchedStore(inner), {
      limits: { call: counted, ofTask: (id: string) => inLine.ofTask(id) },
    });
  };
}

describe("a step that names a limit", () => {
  it("does not ask for a permit any more once its handler has returned", async () => {
    const gate = new Gate();
    let asked = 0;
    const store = new CrashableStore(counting(() => asked++));
    const race: Handler = async (_, task) => {
      const step = task.step("work", { limit: "api" }, () => "worked");
      return text((await Promise.race([step, task.sleep("nap", 1_000)])) ?? "napped");
    };
    const tools = { work: gate.tool("api"), race };
    const process = new Process({ tools, options: { limits } }, new FakeClock(), store);
    await process.runtime.start();
    await call(process, "work", "a");
    await vi.waitUntil(() => gate.begun.length === 1);
    const b = await call(process, "race", "b");
    await process.until(b, ({ task }) => task.waiting);
    await process.clock.advance(1_000);
    expect(bodyOf(await process.ended(b))).toEqual(text("napped"));
    const before = asked;
    gate.end("a");
    for (let n = 0; n < 20; n++) await rest();
    expect(asked - before).toBe(1);
  });

  it("says nothing of its limit once nobody waits, so that an erased key does not come back", async () => {
    const database = memoryDatabase();
    let asked = 0;
    const store = new CrashableStore(
      counting(() => asked++),
      database,
    );
    const keyed: Handler = async (_, task) =>
      text(await task.step("work", { limit: ["api", "ann"] }, () => "worked"));
    const process = new Process({ tools: { keyed }, options: { limits } }, new FakeClock(), store);
    await process.runtime.start();
    await process.ended(await call(process, "keyed", "a"));
    for (let n = 0; n < 20; n++) await rest();
    expect(asked).toBe(2);
    database.kill("another process"); // all read everything again, as after an erasure
    for (let n = 0; n < 20; n++) await rest();
    expect(asked).toBe(2);
  });

  it("waits without a slot while others have its permits, and its record says so", async () => {
    const gate = new Gate();
    const gauge = new SlotGauge();
    const tools = { work: gate.tool("api"), gauge: gauge.handler };
    const process = await Process.started({ tools, options: { limits, concurrency: 2 } });
    const a = await call(process, "work", "a");
    await process.until(a, () => gate.begun.length === 1);
    const b = await call(process, "work", "b");
    expect((await process.until(b, waits)).task).toMatchObject({ state: "running" });
    expect(await gauge.free(process)).toBe(1);
    expect(gate.begun).toEqual(["a"]);
    expect(await process.store.limits?.ofTask(b)).toEqual([
      expect.objectContaining({ name: "api", entry: "work", isWaiting: true }),
    ]);
    gate.end("a");
    await process.until(b, () => gate.begun.length === 2);
    expect((await process.get(b)).task).toMatchObject({ waiting: false, waitsFor: null });
    gate.end("b");
    expect(bodyOf(await process.ended(b))).toEqual(text("b done"));
    expect(await process.store.limits?.ofTask(b)).toEqual([]);
  });

  it("is counted by itself under each key", async () => {
    const gate = new Gate();
    const tools = { one: gate.tool(["api", "one"]), two: gate.tool(["api", "two"]) };
    const process = await Process.started({ tools, options: { limits } });
    await call(process, "one", "a");
    const two = await call(process, "two", "b");
    await process.until(two, () => gate.begun.length === 2);
    const third = await call(process, "two", "c");
    await process.until(third, waits);
  });

  it("gets its permit in the turn of its principal", async () => {
    const gate = new Gate();
    const process = await Process.started({ tools: { work: gate.tool("api") }, options: { limits } });
    const ids = new Map<string, string>();
    for (const [name, principal] of [
      ["a1", "ann"],
      ["a2", "ann"],
      ["a3", "ann"],
      ["b1", "ben"],
    ] as const) {
      const id = await call(process, "work", name, principal);
      ids.set(name, id);
      if (name !== "a1") await process.until(id, waits, of(principal));
      else await process.until(id, () => gate.begun.length === 1, of(principal));
    }
    for (const [place, name] of ["a1", "a2", "b1"].entries()) {
      gate.end(name);
      await process.until(
        ids.get(name) ?? "",
        () => gate.begun.length === place + 2,
        of(name === "b1" ? "ben" : "ann"),
      );
    }
    expect(gate.begun).toEqual(["a1", "a2", "b1", "a3"]);
  });

  it("asks again after a crash, and the permits of the dead attempt are free", async () => {
    const gate = new Gate();
    const setup: Setup = { tools: { work: gate.tool("api") }, options: { limits } };
    const process = await Process.started(setup);
    const a = await call(process, "work", "a");
    await process.until(a, () => gate.begun.length === 1);
    const b = await call(process, "work", "b");
    await process.until(b, waits);
    const next = await process.crash(setup);
    await next.runtime.start();
    await next.until(a, () => gate.begun.length === 2);
    const [, again = ""] = gate.begun;
    gate.end(again);
    await next.until(b, () => gate.begun.length === 3);
    expect(new Set(gate.begun.slice(1))).toEqual(new Set(["a", "b"]));
    gate.end(gate.begun[2] ?? "");
    for (const [id, name] of [
      [a, "a"],
      [b, "b"],
    ] as const)
      expect(bodyOf(await next.ended(id))).toEqual(text(`${name} done`));
  });

  it("keeps no permit when it is cancelled, waiting or not", async () => {
    const gate = new Gate();
    const process = await Process.started({ tools: { work: gate.tool("api") }, options: { limits } });
    const a = await call(process, "work", "a");
    await process.until(a, () => gate.begun.length === 1);
    const b = await call(process, "work", "b");
    const c = await call(process, "work", "c");
    await process.until(b, waits);
    await process.until(c, waits);
    await process.cancel(b);
    await process.ended(b);
    await process.cancel(a);
    await process.until(c, () => gate.begun.length === 2);
    expect(gate.begun).toEqual(["a", "c"]);
  });

  it("starts no more often than its limit allows within a minute", async () => {
    const starts: number[] = [];
    const many: Handler = async (_, task) => {
      await Promise.all(
        Array.from({ length: 7 }, async (_each, index) =>
          task.step(["get", index], { limit: "api" }, () => void starts.push(process.clock.now())),
        ),
      );
      return text("all");
    };
    const process = await Process.started({
      tools: { many },
      options: { limits: { api: { perMinute: 3 } } },
    });
    const id = await process.callId("many");
    await process.until(id, waits);
    expect(starts).toHaveLength(3);
    await process.clock.advance(59_000);
    expect(starts).toHaveLength(3);
    await process.clock.advance(10_000);
    expect(starts).toHaveLength(6);
    await process.clock.advance(70_000);
    expect(bodyOf(await process.ended(id))).toEqual(text("all"));
    for (const [index, at] of starts.entries())
      expect(at - (starts[index - 3] ?? -Infinity)).toBeGreaterThan(60_000);
  });

  it("is dropped from memory while it waits, and has its place in line when it comes back", async () => {
    const gate = new Gate();
    const process = await Process.started({
      tools: { work: gate.tool("api") },
      options: { limits, maxParkedFrames: 0 },
    });
    const a = await call(process, "work", "a");
    await process.until(a, () => gate.begun.length === 1);
    const b = await call(process, "work", "b");
    await process.until(b, ({ task }) => task.state === "queued" && task.waitsFor === "limit");
    gate.end("a");
    await process.ended(a);
    await process.clock.advance(200_000);
    await process.until(b, () => gate.begun.length === 2);
    gate.end("b");
    expect(bodyOf(await process.ended(b))).toEqual(text("b done"));
  });

  it("runs where the store always answers late, and is not dropped from memory for that", async () => {
    const clock = new FakeClock();
    const store = new CrashableStore((inner) => {
      const { limits: inLine } = inner;
      if (inLine === undefined) throw new Error("no limits");
      const late: LimitStore["call"] = async (about) => {
        const answer = await inLine.call(about);
        await clock.advance(600);
        return answer;
      };
      return Object.assign(watchedStore(inner), {
        limits: { call: late, ofTask: (id: string) => inLine.ofTask(id) },
      });
    });
    const work: Handler = async (_, task) => {
      await task.step("work", { limit: "api" }, () => "worked");
      return text(`attempt ${task.attempt}`);
    };
    const options = { limits: { api: { perMinute: 4 } }, maxParkedFrames: 0 };
    const process = new Process({ tools: { work }, options }, clock, store);
    await process.runtime.start();
    expect(bodyOf(await process.ended(await call(process, "work", "a")))).toEqual(text("attempt 1"));
  });

  it("runs without a task too", async () => {
    const gate = new Gate();
    const direct: Handler = async (_, task) => text(await task.step("get", { limit: "api" }, () => "direct"));
    const tools = {
      work: gate.tool("api"),
      direct: { config: { task: "forbidden" }, handler: direct },
    } as const;
    const process = await Process.started({ tools, options: { limits } });
    const a = await call(process, "work", "a");
    await process.until(a, () => gate.begun.length === 1);
    const outcome = process.runInline("direct");
    gate.end("a");
    expect(JSON.parse((await outcome).body)).toEqual(text("direct"));
  });

  it("fails if its limit is not declared, and says what to do", async () => {
    const gate = new Gate();
    const process = await Process.started({ tools: { work: gate.tool("apis") }, options: { limits } });
    const id = await call(process, "work", "a");
    expect(bodyOf(await process.ended(id))).toMatchObject({
      message: expect.stringMatching(
        /Step "work" names the limit "apis", .* It declares api\. Add it: limits: \{ "apis"/,
      ),
    });
  });
});

describe("a tool that names a limit", () => {
  const rests: Handler = async ({ name }, task) => {
    begun.push(String(name));
    await task.step("work", () => undefined);
    await task.sleep("nap", 600_000);
    return text(`${String(name)} done`);
  };
  let begun: string[] = [];

  it("begins with a permit, and gives it back while it waits for something else", async () => {
    begun = [];
    const process = await Process.started({
      tools: { work: { config: { limit: "api" }, handler: rests } },
      options: { limits },
    });
    const a = await call(process, "work", "a");
    await process.until(a, ({ task }) => task.waitsFor === "sleep");
    const b = await call(process, "work", "b");
    expect((await process.until(b, waits)).task.journalled).toBe(true);
    expect(begun).toEqual(["a"]);
    await process.clock.advance(3_000);
    await process.until(b, () => begun.length === 2);
    await process.clock.advance(700_000);
    await process.clock.advance(10_000);
    for (const id of [a, b])
      expect(bodyOf(await process.ended(id))).toMatchObject({ content: [{ type: "text" }] });
  });

  it("does not run again after a crash because it had waited", async () => {
    const held = Promise.withResolvers<void>();
    const runs: string[] = [];
    const handler: Handler = async ({ name }) => {
      runs.push(String(name));
      await held.promise;
      return text(`${String(name)} done`);
    };
    const setup: Setup = {
      tools: { work: { config: { limit: "api" }, handler } },
      options: { limits },
    };
    const process = await Process.started(setup);
    const a = await call(process, "work", "a");
    await process.until(a, () => runs.length === 1);
    const b = await call(process, "work", "b");
    await process.until(b, waits);
    held.resolve();
    await process.ended(a);
    expect(bodyOf(await process.ended(b))).toEqual(text("b done"));
    expect((await process.get(b)).task.journalled).toBe(false);
  });

  it("is refused if the limit is not declared, and if it may run without a task", async () => {
    const handler: Handler = async () => text("never");
    const start = (config: object) =>
      Process.started({ tools: { work: { config, handler } }, options: { limits } });
    await expect(start({ limit: "apis" })).rejects.toMatchObject({ code: "configuration" });
    await expect(start({ limit: "api", task: "forbidden" })).rejects.toThrow(/limit counts tasks/);
    await expect(start({ alwaysTask: true, task: "forbidden" })).rejects.toThrow(/alwaysTask needs a task/);
  });
});

it("wrong limits are refused, each with what is wrong", async () => {
  const start = (given: object) =>
    Process.started({ tools: {}, options: { limits: given as typeof limits } });
  await expect(start({ api: {} })).rejects.toThrow("limits.api limits nothing");
  await expect(start({ api: { concurrency: 0 } })).rejects.toThrow("concurrency must be");
  await expect(start({ api: { perHour: 5 } })).rejects.toThrow("perHour");
});

it("asks for whoever waits just when the last call of its limit has ended", async () => {
  const line = new LimitLine({
    name: "api",
    concurrency: 1,
    perMinute: null,
    clock: new StoreClock(new FakeClock()),
    stopped: new AbortController().signal,
    onError: () => expect.unreachable(),
    store: {
      call: async ({ joins }) => ({ ok: true, granted: joins, waiting: 0, againMs: null }),
      ofTask: async () => [],
    },
  });
  const wait = (entry: string, granted: () => void): unknown =>
    line.wait(
      { taskId: "task", entry, token: "token", turnOf: "" },
      { granted, waits: expect.unreachable, failed: () => expect.unreachable() },
    );
  const second = new Promise<void>((resolve) =>
    wait("one", () => queueMicrotask(() => wait("two", resolve))),
  );
  await expect(Promise.race([second.then(() => "granted"), rest().then(() => "forgotten")])).resolves.toBe(
    "granted",
  );
});
