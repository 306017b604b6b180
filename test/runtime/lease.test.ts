import { expect, it } from "vitest";
import type { OwnerLease, TaskStore } from "../../src/store/store.ts";
import { CrashableStore } from "../../src/testing/crashable-store.ts";
import { FakeClock } from "../../src/testing/clocks.ts";
import { bodyOf, Process, text, type Handler, type Setup } from "./harness.ts";
import { Held } from "./watched-store.ts";

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

async function started(setup: Setup): Promise<{ readonly process: Process; readonly lease: TestLease }> {
  const store = new CrashableStore();
  const lease = new TestLease(store.store);
  const process = new Process(setup, new FakeClock(), store);
  await process.runtime.start();
  return { process, lease };
}

const resume = { onCrash: "resume" as const };

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
