import { describe, expect, it } from "vitest";
import { createRuntime } from "../../src/runtime/create-runtime.ts";
import { Registry } from "../../src/runtime/tool/registry.ts";
import { memoryStore } from "../../src/store/sqlite/memory-store.ts";
import { FakeClock, rest } from "../../src/testing/clocks.ts";
import { bodyOf, nobody, Process, text, type Handler } from "./harness.ts";
import { Failing, Held, watchedStore } from "./watched-store.ts";

const never = new Promise<never>(() => undefined);
const call = { ...nobody, tool: "direct", arguments: {}, origin: { capabilities: {} } };
const config = { promoteAfterMs: 1_000_000 };
const hangs: Handler = () => never;

/** Whether `work` has settled. */
function watched(work: Promise<unknown>): () => boolean {
  let settled = false;
  const note = (): void => void (settled = true);
  work.then(note, note);
  return () => settled;
}

describe("a stop keeps to its deadline", () => {
  it("where a direct run goes on whose task cannot be made, and whose caller is then told", async () => {
    const failing = new Failing("create", Number.POSITIVE_INFINITY);
    const process = await Process.started({
      tools: { direct: { config, handler: hangs } },
      before: failing.before,
    });
    const calling = process.runtime.call(call, new AbortController().signal);
    calling.catch(() => undefined);
    await rest();
    const stopped = watched(process.runtime.stop());
    await process.clock.advance(9_999);
    expect(stopped()).toBe(false);
    await process.clock.advance(1);
    expect(stopped()).toBe(true);
    // The handler has begun, and nobody knows what it has done.
    await expect(calling).rejects.toMatchObject({ code: "stopping", data: { "holdfast/begun": true } });
    expect(process.clock.armed).toBe(0);
    expect(process.errors).toHaveLength(failing.hits);
  });

  it("where a start is under way that does not come on, and that closes its store when it does", async () => {
    for (const point of ["open", "renew", "orphanedHandlers"] as const) {
      const held = new Held(point);
      const calls: string[] = [];
      const clock = new FakeClock();
      const runtime = createRuntime({
        store: watchedStore(memoryStore(), (name, id) => (calls.push(name), held.before(name, id))),
        registry: new Registry(),
        clock,
      });
      const starting = runtime.start();
      starting.catch(() => undefined);
      await held.reached;
      const stopped = watched(runtime.stop());
      await clock.advance(10_000);
      expect(stopped()).toBe(true);
      held.open();
      await expect(starting).rejects.toMatchObject({ code: "stopping" });
      expect([calls.at(-1), clock.armed]).toEqual(["close", 0]);
    }
  });

  it("where a task that is being read does not come on, which then runs in the next process", async () => {
    const held = new Held("request");
    const ran: number[] = [];
    const tools = { late: ((_, task) => (ran.push(task.attempt), text("late"))) satisfies Handler };
    const process = await Process.started({ tools, before: held.before });
    const id = await process.callId("late", { queued: true });
    await held.reached;
    const stopping = process.restart({ tools });
    const stopped = watched(stopping);
    await process.clock.advance(10_000);
    expect(stopped()).toBe(true);
    held.open();
    const next = await stopping;
    // Nothing says that it may run twice, and it has not.
    expect(bodyOf(await next.ended(id))).toEqual(text("late"));
    expect([ran, (await next.get(id)).task.crashes, process.errors]).toEqual([[2], 0, []]);
  });
});

it.each(["create", "claim"] as const)(
  "a task that the store gives to a process after its stop's deadline (%s) runs in the next one, as if it were new",
  async (point) => {
    const held = new Held(point);
    const tools = { once: ((_, task) => text(`attempt ${task.attempt}`)) satisfies Handler };
    const process = await Process.started({ tools, before: held.before });
    const calling = process.callId("once", point === "claim" ? { queued: true } : {});
    await held.reached;
    const stopping = process.restart({ tools });
    await process.clock.advance(10_000);
    held.open();
    const next = await stopping;
    const ended = await next.ended(await calling);
    expect([bodyOf(ended), ended.task.crashes, process.errors]).toEqual([text("attempt 2"), 0, []]);
  },
);

it("a direct run whose task could not be made in time becomes one when the store takes it", async () => {
  const failing = new Failing("create");
  const process = await Process.started({
    tools: { direct: { config: { promoteAfterMs: 1_000 }, handler: hangs } },
    before: failing.before,
  });
  const calling = process.runtime.call(call, new AbortController().signal);
  await process.clock.advance(10_000);
  expect(await calling).toMatchObject({ kind: "task" });
  expect([failing.hits, process.errors.length]).toEqual([1, 1]);
});
