import { expect, it } from "vitest";
import { memoryStore } from "../../src/store/sqlite/memory-store.ts";
import type { OwnerLease, TaskStore } from "../../src/store/store.ts";
import type { CommandResult, TaskCommand, TaskCommandName } from "../../src/task/command.ts";
import { CrashableStore } from "../../src/testing/crashable-store.ts";
import { FakeClock } from "../../src/testing/clocks.ts";
import { bodyOf, Process, text, type Handler, type Setup } from "./harness.ts";
import { Held, storeFailed } from "./watched-store.ts";

const leaseMs = 15_000;

/** A lease that holds from each renewal until a test says otherwise. */
class TestLease implements OwnerLease {
  readonly ms = leaseMs;
  holds = true;
  readonly #store: TaskStore;

  constructor(store: TaskStore) {
    this.#store = store;
    const renew = store.renew.bind(store);
    Object.assign(store, {
      lease: this,
      renew: async () => {
        const renewal = await renew();
        this.holds = true;
        return renewal;
      },
    });
  }

  async held(after: string, limit: number): Promise<readonly { id: string; token: string }[]> {
    const tasks = await this.#store.unfinished(after, limit);
    return tasks.flatMap(({ id, token }) => (token === null ? [] : [{ id, token }]));
  }
}

/** A store with a standby, which misses what is written while it lags. */
class Pair {
  lags = false;
  /** As a store does whose connections broke. */
  tellOfGap = (): void => undefined;
  #isPromoted = false;

  readonly wrap = (primary: TaskStore): TaskStore => {
    const standby = memoryStore();
    const current = (): TaskStore => (this.#isPromoted ? standby : primary);
    const lags = (): boolean => this.lags;
    async function write<N extends TaskCommandName>(command: TaskCommand<N>): Promise<CommandResult<N>> {
      const to = current();
      const result = await to.write(command);
      if (to === primary && !lags()) await standby.write(command);
      return result;
    }
    const of = (name: string | symbol): unknown => {
      const member: unknown = Reflect.get(current(), name);
      return typeof member === "function" ? member.bind(current()) : member;
    };
    const both: Partial<TaskStore> = {
      write,
      open: async (owner) => void (await Promise.all([primary.open(owner), standby.open(owner)])),
      close: async () => void (await Promise.all([primary.close(), standby.close()])),
      setHandlers: async (handlers) =>
        void (await Promise.all([primary.setHandlers(handlers), standby.setHandlers(handlers)])),
      subscribe: (listener) => {
        this.tellOfGap = () => listener("gap", "others");
        for (const store of [primary, standby])
          store.subscribe((...changes) => void (store === current() && listener(...changes)));
        return () => undefined;
      },
    };
    return new Proxy(primary, { get: (_, name): unknown => Reflect.get(both, name) ?? of(name) });
  };

  promote(): void {
    this.#isPromoted = true;
  }
}

async function started(
  setup: Setup,
  wrap?: (store: TaskStore) => TaskStore,
): Promise<{ readonly process: Process; readonly lease: TestLease }> {
  const store = new CrashableStore(wrap);
  const lease = new TestLease(store.store);
  const process = new Process(setup, new FakeClock(), store);
  await process.runtime.start();
  return { process, lease };
}

const resume = { onCrash: "resume" as const };
const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };

it("a step does not begin where the lease may have run out and the task is somebody else's", async () => {
  const begun: string[] = [];
  const gate = Promise.withResolvers<void>();
  const reads = new Held("get");
  const handler: Handler = async (_, task) => {
    await task.step("first", () => void begun.push("first"));
    await gate.promise;
    await task.step("second", () => void begun.push("second"));
    return text("done");
  };
  let isHeld = false;
  const before: Setup["before"] = (call, id) => (isHeld ? reads.before(call, id) : undefined);
  const { process, lease } = await started({ tools: { works: { config: resume, handler } }, before });
  const id = await process.callId("works");
  await process.journalHas(id, "first");
  // As when this process stood still: others took the task, and it has not heard of that yet.
  isHeld = true;
  lease.holds = false;
  const { task } = await process.get(id);
  await process.store.write({ type: "release", now: process.clock.now(), id, token: task.token ?? "" });
  gate.resolve();
  await reads.reached;
  expect(begun).toEqual(["first"]);
  reads.open();
  process.runtime.lookForWork();
  expect(bodyOf(await process.ended(id))).toEqual(text("done"));
  expect(begun).toEqual(["first", "second"]);
  expect((await process.get(id)).task.attempt).toBe(2);
});

it("a step waits for a store that does not answer while the lease may have run out", async () => {
  const begun: string[] = [];
  const gate = Promise.withResolvers<void>();
  const renewals = new Held("renew");
  let isHeld = false;
  const before: Setup["before"] = (call, id) => (isHeld ? renewals.before(call, id) : undefined);
  const handler: Handler = async (_, task) => {
    await gate.promise;
    await task.step("only", () => void begun.push("only"));
    return text("done");
  };
  const { process, lease } = await started({ tools: { works: handler }, before });
  const id = await process.callId("works");
  isHeld = true;
  lease.holds = false;
  gate.resolve();
  await renewals.reached;
  expect(begun).toEqual([]);
  renewals.open();
  expect(bodyOf(await process.ended(id))).toEqual(text("done"));
  expect(begun).toEqual(["only"]);
});

it("a handler that waits does not begin anew because the store does not take for a while that it is parked", async () => {
  const runs: number[] = [];
  const asks: Handler = async (_, task) => {
    runs.push(task.attempt);
    return text((await task.elicit("q", question)).action);
  };
  let fails = true;
  const before: Setup["before"] = (call) => {
    if (call === "park" && fails) throw storeFailed();
  };
  const { process } = await started({ tools: { asks }, options: { maxParkedFrames: 0 }, before });
  const id = await process.callId("asks");
  await process.until(id, ({ task }) => task.waiting);
  await process.clock.advance(leaseMs); // meanwhile the tasks of this process are compared with those that run
  fails = false;
  await process.clock.advance(leaseMs);
  expect((await process.get(id)).task).toMatchObject({ state: "queued", waiting: true, attempt: 1 });
  await process.answer(id, "q", { action: "accept", content: {} });
  expect(bodyOf(await process.ended(id))).toEqual(text("accept"));
  expect(runs).toEqual([1, 2]);
});

it("a task that the store has under this process, and that nothing here runs, runs within a lease", async () => {
  const runs: number[] = [];
  const gate = Promise.withResolvers<void>();
  const handler: Handler = async (_, task) => {
    runs.push(task.attempt);
    if (task.attempt < 3) await gate.promise;
    return text(String(task.attempt));
  };
  const { process } = await started({ tools: { works: { config: resume, handler } } });
  const { clock, store } = process;
  const [own, stray] = [await process.callId("works"), await process.callId("works")];
  // As after a failover that has undone what happened since: no attempt here has this token.
  const { token } = (await process.get(stray)).task;
  await store.write({ type: "release", now: clock.now(), id: stray, token: token ?? "" });
  await store.write({ type: "start", now: clock.now(), id: stray, token: "unknown" });
  await clock.advance(leaseMs);
  expect(bodyOf(await process.ended(stray))).toEqual(text("3"));
  expect((await process.get(own)).task).toMatchObject({ state: "running", attempt: 1 });
  gate.resolve();
  expect(bodyOf(await process.ended(own))).toEqual(text("1"));
  expect(runs).toEqual([1, 1, 3]);
});

it("what a failover has undone of a task that has ended is done again by the process that ended it", async () => {
  const runs: string[] = [];
  const gates = { steps: Promise.withResolvers<void>(), whole: Promise.withResolvers<void>() };
  const tool =
    (name: keyof typeof gates): Handler =>
    async (_, task) => {
      runs.push(name);
      await gates[name].promise;
      if (name === "steps") await task.step("only", () => undefined);
      return text(name);
    };
  const pair = new Pair();
  const { process } = await started({ tools: { steps: tool("steps"), whole: tool("whole") } }, pair.wrap);
  const ids = { steps: await process.callId("steps"), whole: await process.callId("whole") };
  pair.lags = true;
  for (const name of ["steps", "whole"] as const) {
    gates[name].resolve();
    expect(bodyOf(await process.ended(ids[name]))).toEqual(text(name));
  }
  pair.promote();
  expect((await process.get(ids.whole)).task).toMatchObject({ state: "running", journalled: false });
  await process.clock.advance(leaseMs);
  for (const name of ["steps", "whole"] as const)
    expect(bodyOf(await process.ended(ids[name]))).toEqual(text(name));
  expect(runs).toEqual(["steps", "whole"]);
});

it("a task that others may resume stays one, although a failover has undone that, and its end is too large to remember", async () => {
  const runs: number[] = [];
  const gate = Promise.withResolvers<void>();
  const large = text("x".repeat(300_000));
  const handler: Handler = async (_, task) => {
    runs.push(task.attempt);
    await gate.promise;
    await task.step("only", () => undefined);
    return large;
  };
  const pair = new Pair();
  const { process } = await started({ tools: { works: handler } }, pair.wrap);
  const id = await process.callId("works");
  pair.lags = true;
  gate.resolve();
  expect(bodyOf(await process.ended(id))).toEqual(large);
  pair.promote();
  await process.clock.advance(leaseMs);
  expect(bodyOf(await process.ended(id))).toEqual(large);
  expect(runs).toEqual([1, 2]);
});

it("a run whose mark a failover has undone marks its task again", async () => {
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  const handler: Handler = async (_, task) => {
    await gates[0].promise;
    await task.step("only", () => undefined);
    await gates[1].promise;
    return text("done");
  };
  const pair = new Pair();
  const { process } = await started({ tools: { works: handler } }, pair.wrap);
  const id = await process.callId("works");
  pair.lags = true;
  gates[0].resolve();
  await process.journalHas(id, "only");
  pair.promote();
  expect((await process.get(id)).task).toMatchObject({ journalled: false });
  pair.tellOfGap();
  await expect.poll(async () => (await process.get(id)).task.journalled).toBe(true);
  gates[1].resolve();
  expect(bodyOf(await process.ended(id))).toEqual(text("done"));
});

it("a cancel is heard although its version is one that a failover has undone", async () => {
  const gate = Promise.withResolvers<void>();
  const handler: Handler = async (_, task) => {
    await task.step("first", () => undefined);
    await gate.promise;
    await task.step("second", () => undefined);
    const { promise, resolve } = Promise.withResolvers<void>();
    task.signal.addEventListener("abort", () => resolve());
    await promise;
    return text("heard");
  };
  const pair = new Pair();
  const { process } = await started({ tools: { works: handler } }, pair.wrap);
  const { clock, store } = process;
  const id = await process.callId("works");
  await process.journalHas(id, "first");
  pair.lags = true;
  gate.resolve();
  await process.journalHas(id, "second");
  const { version } = (await process.get(id)).task;
  pair.promote();
  const cancel = { type: "request_cancel", now: clock.now(), id, cancelBy: clock.now() + 60_000 } as const;
  await store.write(cancel);
  expect((await process.get(id)).task.version).toBe(version);
  pair.tellOfGap();
  expect(bodyOf(await process.ended(id))).toEqual(text("heard"));
});
