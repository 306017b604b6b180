import { describe, expect, it } from "vitest";
import { createRuntime } from "../../src/runtime/create-runtime.ts";
import { Registry } from "../../src/runtime/tool/registry.ts";
import type { Runtime } from "../../src/runtime/runtime.ts";
import { memoryStore } from "../../src/store/sqlite/memory-store.ts";
import type { TaskStore } from "../../src/store/store.ts";
import { HoldfastError } from "../../src/task/fault.ts";
import { runChild } from "../store/sqlite/child.ts";
import { FakeClock, rest } from "../../src/testing/clocks.ts";
import { nobody, text, type Handler } from "./harness.ts";
import { Failing, Held, watchedStore, type BeforeCall } from "./watched-store.ts";

const call = { ...nobody, tool: "hello", arguments: {}, origin: { capabilities: {} } };

interface Own {
  readonly runtime: Runtime;
  readonly clock: FakeClock;
  readonly errors: unknown[];
  /** What the store was asked, in order. */
  readonly calls: string[];
}

/** A runtime whose store is opened and closed as a real one. */
function own(before: BeforeCall = () => undefined, store: TaskStore = memoryStore()): Own {
  const registry = new Registry();
  const hello: Handler = () => text("hi");
  registry.add("hello", {}, hello);
  const clock = new FakeClock();
  const errors: unknown[] = [];
  const calls: string[] = [];
  const watched = watchedStore(store, (name, id) => {
    calls.push(name);
    return before(name, id);
  });
  const onError = (error: unknown): void => void errors.push(error);
  return { runtime: createRuntime({ store: watched, registry, clock, onError }), clock, errors, calls };
}

describe("start", () => {
  it("can be tried again where the store could not be opened", async () => {
    let taken = true;
    const { runtime } = own((name) => {
      if (name === "open" && taken) throw new HoldfastError("store_locked", "in use");
    });
    await expect(runtime.start()).rejects.toMatchObject({ code: "store_locked" });
    taken = false;
    await runtime.start();
    await runtime.create(call);
    await runtime.stop();
  });

  it("frees the store where it fails after it was opened, and no timer is left", async () => {
    const { runtime, clock, calls } = own(new Failing("renew").before);
    await expect(runtime.start()).rejects.toMatchObject({ code: "store_failed" });
    expect(calls.at(-1)).toBe("close");
    expect(clock.armed).toBe(0);
    await runtime.stop();
    expect(calls.filter((name) => name === "close")).toHaveLength(1);
    await expect(runtime.create(call)).rejects.toMatchObject({ code: "stopping" });
  });

  it("does not make a runtime ready that is draining already", async () => {
    const recovering = new Held("renew");
    const { runtime } = own(recovering.before);
    const starting = runtime.start();
    await recovering.reached;
    runtime.drain();
    recovering.open();
    await starting;
    expect(await runtime.ready(1_000)).toBe(false);
    await runtime.stop();
  });

  it("is one start however often it is called", async () => {
    const { runtime, calls } = own();
    await Promise.all([runtime.start(), runtime.start()]);
    await runtime.start();
    expect(calls.filter((name) => name === "open")).toHaveLength(1);
    await runtime.stop();
  });

  it("is not possible after a stop, also where nothing was started before", async () => {
    const { runtime, calls } = own();
    await runtime.stop();
    await expect(runtime.start()).rejects.toMatchObject({ code: "stopping" });
    await expect(runtime.create(call)).rejects.toMatchObject({ code: "stopping" });
    expect(calls).toEqual([]);
  });

  it("is waited for by calls that come while it is under way, and what they make is not recovered", async () => {
    const recovering = new Held("renew");
    const { runtime, calls } = own(recovering.before);
    const starting = runtime.start();
    await recovering.reached;
    const created = runtime.create(call);
    await rest();
    expect(calls).not.toContain("create");
    recovering.open();
    await starting;
    const { task } = await created;
    await rest();
    expect((await runtime.get(task.id, nobody)).outcome).toMatchObject({ kind: "result" });
    await runtime.stop();
  });

  it("may end before it is stored that a result was fetched: that is no fault to report", async () => {
    const { runtime, errors } = own();
    await runtime.start();
    const { task } = await runtime.create(call);
    await rest();
    const ended = await runtime.get(task.id, nobody);
    await runtime.stop();
    runtime.retrieved(ended.task, "tasks/result");
    await rest();
    expect(ended.task).toMatchObject({ outcomeKind: "result" });
    expect(errors).toEqual([]);
  });

  it("has to come before the first call", async () => {
    await expect(own().runtime.create(call)).rejects.toMatchObject({ code: "configuration" });
  });

  it("is waited for by a stop that comes while it is under way", async () => {
    const recovering = new Held("renew");
    const { runtime, calls, clock } = own(recovering.before);
    const starting = runtime.start();
    await recovering.reached;
    const stopping = runtime.stop();
    await rest();
    expect(calls).not.toContain("close");
    recovering.open();
    await starting;
    await stopping;
    expect(calls.at(-1)).toBe("close");
    expect(clock.armed).toBe(0);
  });
});

describe("stop", () => {
  it("waits for a call that is being stored, whose caller gets its id, and takes no more", async () => {
    const creating = new Held("create");
    const { runtime, calls } = own(creating.before);
    await runtime.start();
    const accepted = runtime.create(call);
    await creating.reached;
    const stopping = runtime.stop();
    await expect(runtime.create(call)).rejects.toMatchObject({ code: "stopping" });
    await rest();
    expect(calls).not.toContain("close");
    creating.open();
    expect((await accepted).task.state).toBe("running");
    await stopping;
    expect(calls.slice(-2)).toEqual(["settle", "close"]);
  });

  it("is one stop however often it is called", async () => {
    const { runtime, calls } = own();
    await runtime.start();
    const stopping = runtime.stop();
    expect(runtime.stop()).toBe(stopping);
    await stopping;
    await runtime.stop();
    expect(calls.filter((name) => name === "close")).toHaveLength(1);
  });

  it("waits for a sweep that is under way", async () => {
    const sweeping = new Held("delete_expired");
    let hold = false;
    const { runtime, calls, clock, errors } = own((name, id) =>
      hold ? sweeping.before(name, id) : undefined,
    );
    await runtime.start();
    hold = true;
    await clock.advance(60_000);
    await sweeping.reached;
    const stopping = runtime.stop();
    await rest();
    expect(calls).not.toContain("close");
    sweeping.open();
    await stopping;
    expect(calls.at(-1)).toBe("close");
    expect([errors, clock.armed]).toEqual([[], 0]);
  });

  it("keeps its process alive until its deadline", async () => {
    const child = runChild(new URL("./stop-child.ts", import.meta.url), []);
    expect(await child.rest()).toEqual(["stopped"]);
  });
});
