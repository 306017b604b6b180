import { describe, expect, it } from "vitest";
import { memoryDatabase } from "../../src/store/sqlite/memory-store.ts";
import type { WorkListener } from "../../src/store/store.ts";
import { CrashableStore } from "../../src/testing/crashable-store.ts";
import { FakeClock, rest } from "../../src/testing/clocks.ts";
import { Process, text, type Setup } from "./harness.ts";
import { Held } from "./watched-store.ts";

const second = 1_000;

/** Processes of one store that tells one of them of work, which the test chooses. */
class Host {
  readonly clock = new FakeClock();
  readonly #database = memoryDatabase();
  #names = 0;

  async start(setup: Partial<Setup> = {}): Promise<Worker> {
    const store = new CrashableStore(undefined, this.#database);
    const worker = new Worker(`p${++this.#names}`, this.clock, store, setup);
    await worker.process.runtime.start();
    await rest();
    return worker;
  }

  /** One that leaves its tasks to others. */
  serve(): Promise<Worker> {
    return this.start({ options: { roles: ["serve"] } });
  }
}

class Worker {
  readonly process: Process;
  /** Ends of the handlers that run. */
  readonly running: (() => void)[] = [];
  listener: WorkListener | undefined;

  constructor(name: string, clock: FakeClock, store: CrashableStore, setup: Partial<Setup>) {
    const handler = async () => {
      await new Promise<void>((resolve) => this.running.push(resolve));
      return text(name);
    };
    const onWork = (listener: WorkListener): (() => void) => {
      this.listener = listener;
      return () => (this.listener = undefined);
    };
    const tools = { work: { config: { onCrash: "resume" as const }, handler } };
    this.process = new Process({ tools, onWork, ...setup }, clock, store);
  }

  /** What it says when it is told of work. */
  async told(tasks = 1): Promise<boolean | undefined> {
    const took = await this.listener?.(tasks);
    await rest();
    return took;
  }

  async call(tool = "work"): Promise<string> {
    const id = await this.process.callId(tool);
    await rest();
    return id;
  }
}

const slots = (concurrency: number): Partial<Setup> => ({ options: { concurrency } });

describe("a store that tells one process of work", () => {
  it("has nobody else look for it, but after a gap", async () => {
    const host = new Host();
    const [front, a, b] = [await host.serve(), await host.start(), await host.start()];
    await front.call();
    expect([a.running.length, b.running.length]).toEqual([0, 0]);
    expect(await a.told()).toBe(true);
    expect([a.running.length, b.running.length]).toEqual([1, 0]);
    await front.call();
    await front.process.runtime.stop();
    await host.clock.advance(2 * second); // they hear of it by a gap
    expect(a.running.length + b.running.length).toBe(2);
  });

  it("hears where others have to be told: nothing was there, no slot was free, or more was there than slots", async () => {
    const host = new Host();
    const [front, a] = [await host.serve(), await host.start(slots(2))];
    expect(await a.told()).toBe(false);
    for (let tasks = 0; tasks < 3; tasks++) await front.call();
    expect(await a.told()).toBe(false);
    expect(a.running.length).toBe(2);
    expect(await a.told()).toBe(false);
    a.running.shift()?.();
    await rest();
    expect(a.running.length).toBe(2);
    a.running.splice(0).forEach((end) => end());
    await rest();
    await front.call();
    expect(await a.told()).toBe(true);
    a.running.splice(0).forEach((end) => end());
    await rest();
    await front.call();
    expect(await a.told(2)).toBe(false); // somebody else has the other one, or has to
  });

  it("is told by a process that takes very many to have others take some too", async () => {
    const host = new Host();
    const [front, a] = [await host.serve(), await host.start(slots(300))];
    for (let tasks = 0; tasks < 99; tasks++) await front.call();
    expect(await a.told()).toBe(true);
    for (let tasks = 0; tasks < 250; tasks++) await front.call();
    expect(await a.told()).toBe(false);
    expect(a.running.length).toBe(300);
  });

  it("is answered for what came while the process looked", async () => {
    const host = new Host();
    const held = new Held("claim");
    const [front, a] = [await host.serve(), await host.start({ before: held.before })];
    await front.call();
    const early = a.listener?.(1);
    await held.reached;
    await front.call();
    const late = a.listener?.(1);
    const tooLate = a.listener?.(1);
    held.open();
    expect(await Promise.all([early, late, tooLate])).toEqual([true, true, false]);
    await rest();
    expect(a.running.length).toBe(2);
  });

  it("has none of a process that only serves, drains or stops", async () => {
    const host = new Host();
    const [front, a, b] = [await host.serve(), await host.start(), await host.start()];
    expect(front.listener).toBeUndefined();
    const offered = a.listener;
    a.process.runtime.drain();
    expect(a.listener).toBeUndefined();
    expect(await offered?.(1)).toBe(false);
    await b.process.runtime.stop();
    expect(b.listener).toBeUndefined();
  });

  it("has a process go on with what it held back when another one's task ended", async () => {
    const host = new Host();
    const one = (worker: () => Worker): Setup["tools"] => ({
      one: {
        config: { concurrency: 1, onCrash: "resume" },
        handler: async () => {
          await new Promise<void>((resolve) => worker().running.push(resolve));
          return text("one");
        },
      },
    });
    const a: Worker = await host.start({ tools: one(() => a) });
    const b: Worker = await host.start({ tools: one(() => b) });
    await a.call("one");
    await a.told();
    await b.call("one");
    await b.told();
    expect([a.running.length, b.running.length]).toEqual([1, 0]);
    a.running.shift()?.();
    await rest();
    expect(a.running.length + b.running.length).toBe(1);
  });
});
