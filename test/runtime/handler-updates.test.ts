import { expect, it } from "vitest";
import { rest } from "../../src/testing/clocks.ts";
import { bodyOf, nobody, Process, text, type Handler } from "./harness.ts";
import { Held, type BeforeCall } from "./watched-store.ts";

const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };

/** A process whose `update` writes are counted, with all that come after `open` let through. */
async function counting(handler: Handler): Promise<{ process: Process; held: Held; updates: () => number }> {
  const held = new Held("update");
  let updates = 0;
  const before: BeforeCall = async (call, id) => {
    if (call === "update") updates++;
    await held.before(call, id);
  };
  return { process: await Process.started({ tools: { handler }, before }), held, updates: () => updates };
}

it("of status texts that come faster than they are written, the first and the last one are", async () => {
  const done: string[] = [];
  const { process, held, updates } = await counting(async (_, task) => {
    void task.status("first").then(() => done.push("first"));
    const all = Array.from({ length: 1_000 }, (__, count) => task.status(`text ${count}`));
    await Promise.all(all);
    done.push("all");
    await task.elicit("q", question);
    return text("done");
  });
  const id = await process.callId("handler");
  await held.reached;
  await rest();
  expect([done, updates()]).toEqual([[], 1]);
  held.open();
  await process.asked(id);
  expect([done, updates()]).toEqual([["first", "all"], 2]);
  expect((await process.get(id)).task.statusMessage).toBe("text 999");
});

it("the last of each kind of change is written, with those of other kinds", async () => {
  const { process, held, updates } = await counting(async (_, task) => {
    void task.status("first");
    void task.extend(5_000_000);
    void task.pollInterval(7_000);
    void task.status("second");
    await task.extend(6_000_000);
    await task.elicit("q", question);
    return text("done");
  });
  held.open();
  const id = await process.callId("handler");
  const { task } = await process.asked(id);
  expect(task).toMatchObject({ statusMessage: "second", pollIntervalMs: 7_000, expiry: { ms: 6_000_000 } });
  expect(updates()).toBe(2);
});

it("a task that ends keeps the last change, and no text of its work", async () => {
  const { process, held } = await counting((_, task) => {
    void task.status("nearly done");
    for (const ms of [5_000, 7_000]) void task.pollInterval(ms);
    return text("done");
  });
  const id = await process.callId("handler");
  await held.reached;
  await rest();
  expect((await process.get(id)).task.state).toBe("running");
  held.open();
  const ended = await process.ended(id);
  expect(ended.task).toMatchObject({ statusMessage: null, pollIntervalMs: 7_000 });
  expect(bodyOf(ended)).toEqual(text("done"));
});

it("a question comes with the status text that was set before it", async () => {
  const order: string[] = [];
  const process = await Process.started({
    tools: {
      asks: async (_, task) => {
        await task.step("s", () => 1);
        for (const status of ["first", "last"]) void task.status(status);
        return text((await task.elicit("q", question)).action);
      },
    },
    before: (call) => void order.push(call),
  });
  const id = await process.callId("asks");
  await process.asked(id);
  expect(order.filter((call) => call === "update" || call === "open_input")).toEqual([
    "update",
    "update",
    "open_input",
  ]);
  expect((await process.get(id)).task.statusMessage).toBe("last");
});

it("changes of a task that has ended reject, one promise for all that were pending", async () => {
  const ended: unknown[] = [];
  const gate = Promise.withResolvers<void>();
  const process = await Process.started({
    tools: {
      handler: async (_, task) => {
        await gate.promise;
        const all = await Promise.allSettled(["a", "b", "c"].map((status) => task.status(status)));
        for (const end of all)
          ended.push(end.status === "rejected" && (end.reason as { code: unknown }).code);
        return text("late");
      },
    },
  });
  const id = await process.callId("handler");
  await process.runtime.cancelNow(id, nobody);
  gate.resolve();
  await rest();
  expect(ended).toEqual(["fenced", "fenced", "fenced"]);
});
