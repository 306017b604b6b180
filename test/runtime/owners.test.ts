import { describe, expect, it } from "vitest";
import { memoryDatabase } from "../../src/store/sqlite/memory-store.ts";
import type { TaskStore } from "../../src/store/store.ts";
import { createRuntime } from "../../src/runtime/create-runtime.ts";
import { Registry } from "../../src/runtime/tool/registry.ts";
import { HoldfastError } from "../../src/task/fault.ts";
import { CrashableStore } from "../../src/testing/crashable-store.ts";
import { FakeClock, rest } from "../../src/testing/clocks.ts";
import { bodyOf, nobody, Process, text, type Handler, type Setup } from "./harness.ts";
import type { StoreCall } from "./watched-store.ts";

const second = 1_000;
const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
const resume = { onCrash: "resume" as const };

/** Processes on one database, and one clock. */
class Host {
  readonly clock = new FakeClock();
  readonly #database = memoryDatabase();

  async start(setup: Setup): Promise<{ readonly process: Process; readonly crash: () => void }> {
    const store = new CrashableStore(undefined, this.#database);
    const process = new Process(setup, this.clock, store);
    await process.runtime.start();
    return { process, crash: () => store.crash() };
  }
}

/** Says in which process it ran. */
function named(name: string, runs: string[] = []): Setup {
  const handler: Handler = () => {
    runs.push(name);
    return text(name);
  };
  return { tools: { where: { config: resume, handler } } };
}

describe("processes on one store", () => {
  it("each run what they took, and serve what any of them ran", async () => {
    const host = new Host();
    const { process: a } = await host.start(named("a"));
    const { process: b } = await host.start(named("b"));
    const [atA, atB] = [await a.callId("where"), await b.callId("where", { queued: true })];
    expect(bodyOf(await b.ended(atA))).toEqual(text("a"));
    expect(bodyOf(await a.ended(atB))).toEqual(text("b"));
  });

  it("serve again after a rejoin that failed on the way back from the store", async () => {
    const clock = new FakeClock();
    const { store } = new CrashableStore();
    let [isTaken, rejoins] = [false, 0];
    const renew = () => store.renew();
    const rejoin = async (): Promise<void> => {
      isTaken = false;
      if (++rejoins === 1) throw new HoldfastError("store_failed", "The connection broke.");
    };
    const rejoining = { ...store, renew: async () => ({ ...(await renew()), held: !isTaken }), rejoin };
    const registry = new Registry();
    const runtime = createRuntime({ store: rejoining, registry, clock, onError: () => undefined });
    await runtime.start();
    isTaken = true;
    await clock.advance(second);
    expect([rejoins, await runtime.ready(second)]).toEqual([1, false]);
    await clock.advance(second);
    expect([rejoins, await runtime.ready(second)]).toEqual([2, true]);
    await runtime.stop();
  });

  it("run what waits for a slot of another one, where the store shares their load", async () => {
    const database = memoryDatabase();
    const clock = new FakeClock();
    const start = async (setup: Setup): Promise<Process> => {
      const store = new CrashableStore(undefined, database);
      Object.assign(store.store, { sharesLoad: true });
      const process = new Process(setup, clock, store);
      await process.runtime.start();
      return process;
    };
    const hang = { config: resume, handler: (() => new Promise(() => undefined)) as Handler };
    const a = await start({ tools: { where: hang }, options: { concurrency: 1 } });
    const b = await start(named("b"));
    await a.callId("where");
    expect(bodyOf(await a.ended(await a.callId("where")))).toEqual(text("b"));
    await b.runtime.stop();
  });

  it("go on with the tasks of one that died, running and queued, and of no other", async () => {
    const host = new Host();
    const hang = { config: resume, handler: (() => new Promise(() => undefined)) as Handler };
    const options = { concurrency: 1 };
    const { process: a, crash } = await host.start({ tools: { where: hang }, options });
    const runs: string[] = [];
    const { process: b } = await host.start(named("b", runs));
    const [running, queued] = [await a.callId("where"), await a.callId("where")];
    await host.clock.advance(10 * second);
    expect(runs).toEqual([]);
    crash();
    await host.clock.advance(second);
    for (const id of [running, queued]) expect(bodyOf(await b.ended(id))).toEqual(text("b"));
    expect(runs).toEqual(["b", "b"]);
    expect((await b.get(running)).task.crashes).toBe(1);
    expect((await b.get(queued)).task.crashes).toBe(0);
  });

  it("wake what one left parked that died, also after its time has come", async () => {
    const host = new Host();
    const naps: Handler = async (_, task) => {
      await task.sleep("nap", 5 * second);
      return text("woke");
    };
    const { process: a, crash } = await host.start({ tools: { naps } });
    const { process: b } = await host.start({ tools: { naps } });
    const id = await a.callId("naps");
    await a.until(id, ({ task }) => task.waiting);
    crash();
    await host.clock.advance(10 * second); // looks for others at its end
    await host.clock.advance(second);
    expect(bodyOf(await b.get(id))).toEqual(text("woke"));
  });

  it("take over at once what one gives back that stops", async () => {
    const host = new Host();
    const asks: Handler = async (_, task) => text((await task.elicit("q", question)).action);
    const tools = { asks: { config: { park: false }, handler: asks } };
    const { process: a } = await host.start({ tools });
    const { process: b } = await host.start({ tools });
    const id = await a.callId("asks");
    await a.asked(id);
    await a.runtime.stop();
    await b.until(id, ({ task }) => task.state === "running");
    await b.answer(id, "q", { action: "accept", content: {} });
    expect(bodyOf(await b.ended(id))).toEqual(text("accept"));
  });

  it("pass on cancels and answers to the one that runs the task", async () => {
    const host = new Host();
    const reasons: unknown[] = [];
    const tools: Setup["tools"] = {
      asks: async (_, task) => text((await task.elicit("q", question)).action),
      hangs: (_, task) =>
        new Promise((_resolve, reject) => {
          task.signal.addEventListener("abort", () => {
            reasons.push(task.signal.reason);
            reject(task.signal.reason as Error);
          });
        }),
    };
    const { process: a } = await host.start({ tools });
    const { process: b } = await host.start({ tools });
    const [asking, hanging] = [await a.callId("asks"), await a.callId("hangs")];
    await b.asked(asking);
    await b.answer(asking, "q", { action: "accept", content: {} });
    expect(bodyOf(await b.ended(asking))).toEqual(text("accept"));
    await b.cancel(hanging);
    expect((await b.ended(hanging)).task.state).toBe("cancelled");
    expect(reasons).toHaveLength(1);
  });

  it("end a cancelled task after its grace, although the one that took the cancel is dead", async () => {
    const host = new Host();
    const hangs: Handler = () => new Promise(() => undefined);
    const { process: a } = await host.start({ tools: { hangs } });
    const { process: b, crash } = await host.start({ tools: { hangs } });
    const id = await a.callId("hangs");
    await b.cancel(id);
    crash();
    await host.clock.advance(5 * second);
    expect((await a.ended(id)).task.state).toBe("cancelled");
  });

  it("leave the end of a cancel first to those that run handlers, so that its handler hears of it", async () => {
    const host = new Host();
    const seen: string[] = [];
    const asks: Handler = async (_, task) => {
      await task.elicit("q", question).catch((error: unknown) => {
        seen.push(`stopped in ${task.attempt}`);
        throw error;
      });
      return text("done");
    };
    const hangs: Handler = () => new Promise(() => undefined);
    const tools = { asks, hangs };
    const options = { concurrency: 1, maxParkedFrames: 0 };
    const { process: serving } = await host.start({ tools, options: { roles: ["serve"] } });
    const { process: working } = await host.start({ tools, options });
    const id = await working.callId("asks");
    await working.until(id, ({ task }) => task.state === "queued" && task.waiting);
    await working.callId("hangs"); // in the only slot
    await serving.cancel(id);
    // Each second owners look for what others have scheduled.
    for (let seconds = 0; seconds < 4; seconds++) await host.clock.advance(second);
    await host.clock.advance(second - 1);
    expect((await serving.get(id)).task.state).toBe("queued");
    const isRead = Promise.withResolvers<void>();
    host.clock.after(1, () => void serving.get(id).then(() => isRead.resolve()));
    await host.clock.advance(1);
    await isRead.promise;
    expect((await serving.ended(id)).task.state).toBe("cancelled");
    for (let round = 0; round < 20; round++) await rest();
    expect(seen).toEqual(["stopped in 2"]);
    expect([...serving.errors, ...working.errors]).toEqual([]);
  });

  it("end a cancelled task a little later where none of them runs handlers", async () => {
    const host = new Host();
    const tools = { hangs: (() => new Promise(() => undefined)) as Handler };
    const { process: serving } = await host.start({ tools, options: { roles: ["serve"] } });
    const { process: working, crash } = await host.start({ tools });
    const id = await working.callId("hangs");
    await serving.cancel(id);
    crash();
    await host.clock.advance(10 * second);
    expect((await serving.ended(id)).task.state).toBe("cancelled");
  });

  it("leave a task to the one that has its tool, and block it where none has", async () => {
    const host = new Host();
    const { process: older } = await host.start(named("older"));
    const tools = { fresh: { config: resume, handler: (() => new Promise(() => undefined)) as Handler } };
    const { process: newer, crash } = await host.start({ tools });
    const id = await newer.callId("fresh");
    await host.clock.advance(200 * second);
    expect((await older.get(id)).task.state).toBe("running");
    crash();
    await host.clock.advance(second);
    expect((await older.get(id)).task.state).toBe("queued");
    for (let look = 0; look < 2; look++) await host.clock.advance(100 * second); // the first one sees that it is missing
    expect((await older.get(id)).task).toMatchObject({ state: "queued", blocked: { reason: "tool" } });
  });

  it("tell a handler of a cancel that ends its task at once, after its process has died", async () => {
    const host = new Host();
    const seen: string[] = [];
    const handler: Handler = async (_, task) => {
      const job = await task.step("start", () => "job-1");
      await task.elicit("q", question).catch((error: unknown) => {
        seen.push(`stop ${job} in ${task.attempt}`);
        throw error;
      });
      return text("done");
    };
    const { process: a, crash } = await host.start({ tools: { where: handler } });
    const { process: b } = await host.start({ tools: { where: handler } });
    const id = await a.callId("where");
    await b.until(id, ({ task }) => task.waiting);
    crash();
    expect((await b.runtime.cancelNow(id, nobody)).task.state).toBe("cancelled");
    for (let round = 0; round < 20; round++) await rest();
    expect(seen).toEqual(["stop job-1 in 2"]);
    expect([...a.errors, ...b.errors]).toEqual([]);
  });
});

it("a tool that was there for a while is missing anew from then on", async () => {
  const host = new Host();
  const { process: other } = await host.start({ tools: {} });
  const hangs: Handler = () => new Promise(() => undefined);
  const setup: Setup = { tools: { fresh: { config: resume, handler: hangs } } };
  const first = await host.start(setup);
  const id = await first.process.callId("fresh");
  first.crash();
  await host.clock.advance(second);
  await host.clock.advance(60 * second); // it was missing at a look
  const next = await host.start(setup);
  await next.process.until(id, ({ task }) => task.state === "running");
  await host.clock.advance(50 * second);
  next.crash();
  await host.clock.advance(second);
  await host.clock.advance(20 * second); // so it was at the next one
  expect((await other.get(id)).task).not.toHaveProperty("blocked");
  await host.clock.advance(120 * second);
  expect((await other.get(id)).task).toMatchObject({ state: "queued", blocked: { reason: "tool" } });
});

it("a process that stops leaves calls which it still takes to others", async () => {
  const host = new Host();
  const { process: old } = await host.start(named("old"));
  const { process: fresh } = await host.start(named("fresh"));
  old.runtime.drain();
  expect(bodyOf(await fresh.ended(await old.callId("where")))).toEqual(text("fresh"));
});

describe("a process that only serves", () => {
  it("leaves its tasks to one that works, whenever that comes", async () => {
    const host = new Host();
    const runs: string[] = [];
    const { process: web } = await host.start({ ...named("web", runs), options: { roles: ["serve"] } });
    const id = await web.callId("where");
    await host.clock.advance(second);
    expect((await web.get(id)).task).toMatchObject({ state: "queued", owner: null });
    await host.start({ ...named("worker", runs), options: { roles: ["work"] } });
    expect(bodyOf(await web.ended(id))).toEqual(text("worker"));
    const next = await web.callId("where");
    expect(bodyOf(await web.ended(next))).toEqual(text("worker"));
    expect(runs).toEqual(["worker", "worker"]);
  });

  it("keeps them for a worker, however long that takes", async () => {
    const host = new Host();
    const { process: web } = await host.start({ ...named("web"), options: { roles: ["serve"] } });
    const id = await web.callId("where");
    await host.clock.advance(200 * second);
    await host.clock.advance(200 * second);
    expect((await web.get(id)).task.state).toBe("queued");
  });

  it("makes a task at once of a call that could be answered directly", async () => {
    const host = new Host();
    const setup = (roles: readonly ("serve" | "work")[]): Setup => ({
      tools: { soon: { config: { promoteAfterMs: second }, handler: () => text("soon") } },
      options: { roles },
    });
    const { process: web } = await host.start(setup(["serve"]));
    await host.start(setup(["work"]));
    const call = { ...nobody, tool: "soon", arguments: {}, origin: { capabilities: {} } };
    const end = await web.runtime.call(call, new AbortController().signal);
    if (end.kind !== "task") throw new Error("It was answered directly.");
    expect(bodyOf(await web.ended(end.snapshot.task.id))).toEqual(text("soon"));
  });
});

it("a process that was taken for dead says so once, is not ready, and runs nothing more", async () => {
  const database = memoryDatabase();
  const clock = new FakeClock();
  let owner = "";
  const noting = (store: TaskStore): TaskStore => {
    const open = store.open.bind(store);
    store.open = (by) => {
      owner = by.id;
      return open(by);
    };
    return store;
  };
  const lost = new Process(named("lost"), clock, new CrashableStore(noting, database));
  await lost.runtime.start();
  expect(await lost.runtime.ready(second)).toBe(true);
  database.kill(owner);
  await clock.advance(3 * second);
  await rest();
  expect(await lost.runtime.ready(second)).toBe(false);
  await expect(lost.call("where")).rejects.toMatchObject({ code: "store_lost" });
  expect(lost.errors).toMatchObject([{ code: "store_lost" }]);
});

it("a process that was taken for dead claims nothing of what others queue from then on", async () => {
  const host = new Host();
  let lost = false;
  let claims = 0;
  const before = (call: StoreCall): void => {
    if (call !== "claim" || !lost) return;
    claims++;
    throw new HoldfastError("store_lost", "It was taken for dead.");
  };
  const { process: worker } = await host.start({ ...named("worker"), options: { roles: ["work"] }, before });
  const { process: web } = await host.start({ ...named("web"), options: { roles: ["serve"] } });
  lost = true;
  for (let call = 0; call < 5; call++) {
    await web.callId("where");
    await rest();
  }
  expect(claims).toBe(1);
  expect(worker.errors).toEqual([]);
});
