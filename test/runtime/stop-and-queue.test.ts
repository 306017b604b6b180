import { describe, expect, it } from "vitest";
import { rest } from "../../src/testing/clocks.ts";
import { bodyOf, Process, text, type Handler, type Setup } from "./harness.ts";
import { Failing, Held } from "./watched-store.ts";

const never = new Promise<never>(() => undefined);

describe("a stop", () => {
  it.each(["claim", "request"] as const)(
    "that comes as a queued task is being started (%s) does not lose it, nor run it twice",
    async (point) => {
      const held = new Held(point);
      const gate = Promise.withResolvers<void>();
      let runs = 0;
      const tools = {
        busy: (async () => (await gate.promise, text("busy"))) satisfies Handler,
        once: (() => (runs++, text("ran"))) satisfies Handler,
      };
      let hold = false;
      const first = await Process.started({
        tools,
        options: { concurrency: 1 },
        before: (call, id) => (hold ? held.before(call, id) : undefined),
      });
      await first.callId("busy");
      const id = await first.callId("once");
      hold = true;
      gate.resolve();
      await held.reached;
      const stopping = first.restart({ tools });
      await rest();
      held.open();
      const second = await stopping;
      expect(bodyOf(await second.ended(id))).toEqual(text("ran"));
      expect([runs, first.errors]).toEqual([1, []]);
    },
  );

  it("waits for a task that is being started and then read, and closes its store only after that", async () => {
    const [starting, reading] = [new Held("claim"), new Held("request")];
    const gate = Promise.withResolvers<void>();
    const calls: string[] = [];
    let hold = false;
    const tools = {
      busy: (async () => (await gate.promise, text("busy"))) satisfies Handler,
      once: (() => text("ran")) satisfies Handler,
    };
    const first = await Process.started({
      tools,
      options: { concurrency: 1 },
      before: async (call, id) => {
        calls.push(call);
        if (!hold) return;
        await starting.before(call, id);
        await reading.before(call, id);
      },
    });
    await first.callId("busy");
    const id = await first.callId("once");
    hold = true;
    gate.resolve();
    await starting.reached;
    const stopping = first.restart({ tools });
    await rest();
    starting.open();
    await reading.reached;
    await rest();
    expect(calls).not.toContain("close");
    reading.open();
    const second = await stopping;
    expect(bodyOf(await second.ended(id))).toEqual(text("ran"));
    expect([calls.at(-1), first.errors]).toEqual(["close", []]);
  });

  it("gives the slot of a task that it releases to a step of another one", async () => {
    const [begins, goesOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
    const asks: Handler = async (_, task) => {
      const answer = task.elicit("q", question);
      await begins.promise;
      await task.step("beside", () => 1);
      return text((await answer).action);
    };
    const busy: Handler = async (_, task) => {
      await goesOn.promise;
      return text(await task.step("step", () => "done"));
    };
    const process = await Process.started({ tools: { asks, busy }, options: { concurrency: 1 } });
    const id = await process.callId("asks");
    await process.until(id, ({ task }) => task.waiting);
    await process.callId("busy");
    await rest();
    begins.resolve(); // the step waits for the slot
    await rest();
    const stopping = process.restart({ tools: {} });
    await rest();
    goesOn.resolve();
    await (await stopping).journalHas(id, "beside");
  });

  it("starts nothing more as slots come free: what is queued is for the next process", async () => {
    const gate = Promise.withResolvers<void>();
    const ran: string[] = [];
    const setup = (name: string): Setup => ({
      tools: {
        busy: async () => (await gate.promise, text("busy")),
        once: () => (ran.push(name), text(name)),
      },
      options: { concurrency: 1 },
    });
    const first = await Process.started(setup("first"));
    await first.callId("busy");
    const id = await first.callId("once");
    const stopping = first.restart(setup("second"));
    await rest();
    gate.resolve();
    const second = await stopping;
    await second.ended(id);
    expect(ran).toEqual(["second"]);
  });

  it("ends although a task in the queue cannot be started; the next process runs it", async () => {
    const gate = Promise.withResolvers<void>();
    const tools = {
      busy: (async () => (await gate.promise, text("busy"))) satisfies Handler,
      once: (() => text("ran")) satisfies Handler,
    };
    const failing = new Failing("claim", Number.POSITIVE_INFINITY);
    const first = await Process.started({ tools, options: { concurrency: 1 }, before: failing.before });
    const busy = await first.callId("busy");
    const id = await first.callId("once");
    gate.resolve();
    await first.ended(busy);
    await rest();
    expect(failing.hits).toBe(1);
    const second = await first.restart({ tools });
    expect(bodyOf(await second.ended(id))).toEqual(text("ran"));
    expect(first.clock.armed).toBe(second.clock.armed);
  });

  it("leaves a task to the next process that could not be given back", async () => {
    const config = { onCrash: "resume" as const };
    const failing = new Failing("release");
    const hangs: Handler = () => never;
    const first = await Process.started({ tools: { t: { config, handler: hangs } }, before: failing.before });
    const id = await first.callId("t");
    await first.until(id, ({ task }) => task.state === "running");
    const stopping = first.restart({ tools: { t: { config, handler: () => text("again") } } });
    await first.clock.advance(10_000);
    const second = await stopping;
    expect(bodyOf(await second.ended(id))).toEqual(text("again"));
    expect(first.errors).toHaveLength(1);
  });
});
