import { describe, expect, it, vi } from "vitest";
import type { TaskContext } from "../../src/runtime/tool/task-context.ts";
import { rest } from "../../src/testing/clocks.ts";
import { bodyOf, Process, text, type Handler } from "./harness.ts";
import { SlotGauge } from "./slot-gauge.ts";
import { Failing, type StoreCall } from "./watched-store.ts";

const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
const yes = { action: "accept", content: {} };
const never = new Promise<never>(() => undefined);
const options = { concurrency: 1 };

async function start(tools: Record<string, Handler>): Promise<{ process: Process; gauge: SlotGauge }> {
  const gauge = new SlotGauge();
  const all = { ...tools, hello: () => text("hi"), gauge: gauge.handler };
  return { process: await Process.started({ tools: all, options }), gauge };
}

describe("every slot comes back, once", () => {
  it.each<[string, (task: TaskContext) => unknown]>([
    ["a question", (task) => task.elicit("q", question)],
    [
      "two questions",
      (task) => [task.elicit("a", question), task.sample("b", { messages: [], maxTokens: 1 })],
    ],
    ["a question with a deadline", (task) => task.elicit("q", question, { timeoutMs: 1_000 })],
    ["a sleep", (task) => task.sleep("z", 1_000)],
    ["a step", (task) => task.step("s", () => never)],
    ["a step beside a question", (task) => [task.elicit("q", question), task.step("s", () => never)]],
  ])("when a handler ends without awaiting %s", async (_, call) => {
    const { process, gauge } = await start({
      early: (__, task) => {
        call(task);
        return text("ended");
      },
      later: async (__, task) => {
        call(task);
        await rest();
        return text("ended");
      },
    });
    for (const tool of ["early", "later"]) {
      expect(bodyOf(await process.ended(await process.callId(tool)))).toEqual(text("ended"));
      await process.clock.advance(2_000);
      expect(await gauge.free(process)).toBe(1);
    }
  });

  it.each<[string, (task: TaskContext, ran: () => void) => Promise<unknown>]>([
    ["question", (task) => task.elicit("late", question)],
    ["sleep", (task) => task.sleep("late", 0)],
    ["step", (task, ran) => task.step("late", ran)],
  ])("when a %s is begun after the handler has returned, which is refused", async (_, call) => {
    let used: TaskContext | undefined;
    const ran = vi.fn<() => void>();
    const { process, gauge } = await start({
      keeps: (__, task) => {
        used = task;
        return text("ended");
      },
      journals: async (__, task) => {
        await task.step("s", () => 1);
        used = task;
        return text("ended");
      },
    });
    for (const tool of ["keeps", "journals"]) {
      await process.ended(await process.callId(tool));
      await expect(used === undefined ? undefined : call(used, ran)).rejects.toMatchObject({
        code: "fenced",
      });
      expect(ran).not.toHaveBeenCalled();
      expect(await gauge.free(process)).toBe(1);
    }
  });

  it("when the first of two questions is answered, while the other one is open", async () => {
    const { process, gauge } = await start({
      both: async (_, task) => {
        await Promise.all([task.elicit("a", question), task.elicit("b", question)]);
        return text("both");
      },
    });
    const id = await process.callId("both");
    await process.asked(id, 2);
    expect(await gauge.free(process)).toBe(1);
    await process.answer(id, "a", yes);
    await rest();
    expect(await gauge.free(process)).toBe(1);
    await process.answer(id, "b", yes);
    expect(bodyOf(await process.ended(id))).toEqual(text("both"));
    expect(await gauge.free(process)).toBe(1);
  });

  it("when a step beside a question has ended, and not before", async () => {
    const gate = Promise.withResolvers<void>();
    const { process, gauge } = await start({
      beside: async (_, task) => {
        await Promise.all([task.elicit("q", question), task.step("s", () => gate.promise)]);
        return text("both");
      },
    });
    const id = await process.callId("beside");
    await process.asked(id);
    const waits = await process.callId("hello");
    await rest();
    expect((await process.get(waits)).task.state).toBe("queued");
    gate.resolve();
    await process.journalHas(id, "s");
    await process.ended(waits);
    expect((await process.get(id)).inputs).toHaveLength(1);
    await process.answer(id, "q", yes);
    expect(await gauge.free(process)).toBe(1);
    expect(bodyOf(await process.ended(id))).toEqual(text("both"));
  });

  it("when a step begins while another branch waits: it takes a slot of its own", async () => {
    const gate = Promise.withResolvers<void>();
    const { process, gauge } = await start({
      branches: async (_, task) => {
        const asks = task.elicit("q", question);
        await task.sleep("z", 1_000);
        await task.step("s", () => gate.promise);
        return text((await asks).action);
      },
    });
    const id = await process.callId("branches");
    await process.asked(id);
    expect(await gauge.free(process)).toBe(1);
    await process.clock.advance(1_000);
    const waits = await process.callId("hello");
    await rest();
    expect((await process.get(waits)).task.state).toBe("queued");
    gate.resolve();
    await process.ended(waits);
    await process.answer(id, "q", yes);
    await process.ended(id);
    expect(await gauge.free(process)).toBe(1);
  });

  it("when a task is cancelled that waits on two branches, while the only slot is taken", async () => {
    const { process, gauge } = await start({
      two: async (_, task) => {
        await Promise.all([task.elicit("a", question), task.elicit("b", question)]);
        return text("both");
      },
      busy: (_, task) =>
        new Promise((resolve) => task.signal.addEventListener("abort", () => resolve(text("busy")))),
    });
    const id = await process.callId("two");
    await process.asked(id, 2);
    const busy = await process.callId("busy");
    await rest();
    await process.cancel(id);
    await process.clock.advance(5_000);
    expect((await process.ended(id)).task.state).toBe("cancelled");
    await process.cancel(busy);
    await process.ended(busy);
    expect(await gauge.free(process)).toBe(1);
  });

  it.each<StoreCall>(["mark", "open_input", "sleep", "end_sleep", "record_step", "settle", "update"])(
    "when %s fails three times",
    async (call) => {
      const gauge = new SlotGauge();
      const failing = new Failing(call, 3);
      const handler: Handler = async (_, task) => {
        await task.status("begun");
        await Promise.all([task.elicit("q", question), task.step("s", () => 1), task.sleep("z", 10)]);
        return text("done");
      };
      const process = await Process.started({
        tools: { handler, gauge: gauge.handler },
        options,
        before: failing.before,
      });
      const id = await process.callId("handler");
      for (let round = 0; round < 20; round++) await process.clock.advance(1_000);
      await process.answer(id, "q", yes);
      for (let round = 0; round < 20; round++) await process.clock.advance(1_000);
      expect(bodyOf(await process.ended(id))).toEqual(text("done"));
      expect([failing.hits, process.errors.length]).toEqual([3, 3]);
      expect(await gauge.free(process)).toBe(1);
    },
  );
});

describe("the order in which slots are given", () => {
  it("is that in which handlers could go on, by turns with tasks that have not begun", async () => {
    const seen: string[] = [];
    const gate = Promise.withResolvers<void>();
    const { process } = await start({
      asks: async (args, task) => {
        await task.elicit("q", question);
        seen.push(String(args["name"]));
        return task.step("work", () => text("done"));
      },
      busy: async () => (await gate.promise, text("busy")),
      fresh: (args) => (seen.push(String(args["name"])), text("fresh")),
    });
    const asking: string[] = [];
    for (const name of ["a", "b", "c", "d"])
      asking.push(await process.callId("asks", { arguments: { name } }));
    for (const id of asking) await process.asked(id);
    await process.callId("busy");
    await rest();
    const fresh: string[] = [];
    for (const name of ["x", "y"]) {
      process.clock.jump(1); // those of one millisecond have no order
      fresh.push(await process.callId("fresh", { arguments: { name } }));
    }
    for (const index of [1, 3, 0, 2]) {
      await process.answer(asking[index] ?? "", "q", yes);
      await rest();
    }
    expect(seen).toEqual([]);
    gate.resolve();
    for (const id of [...asking, ...fresh]) await process.ended(id);
    expect(seen).toEqual(["b", "x", "d", "y", "a", "c"]);
  });
});
