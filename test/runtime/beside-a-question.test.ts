import { describe, expect, it } from "vitest";
import { rest } from "../../src/testing/clocks.ts";
import { bodyOf, Process, text, type Handler } from "./harness.ts";
import { Held } from "./watched-store.ts";

const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
const yes = { action: "accept", content: {} };
const minute = 60_000;

describe("what goes on beside a question", () => {
  /** Crashes where the store is asked for `call` the nth time, and sees what runs again although nobody answers. */
  async function crashAt(call: "record_step" | "open_input" | "update", handler: Handler): Promise<string[]> {
    const log: string[] = [];
    const held = new Held(call);
    const tools = { tool: handler };
    const first = await Process.started({ tools, before: held.before });
    const id = await first.callId("tool");
    await held.reached;
    await rest();
    const second = await first.crash({ tools });
    await second.until(id, ({ task }) => task.state === "queued" || task.waiting);
    for (let round = 0; round < 20; round++) await rest();
    const { entries } = await second.store.journal(id, "", 9);
    for (const { key } of entries) log.push(key);
    return log;
  }

  const notifies: Handler = async (_, task) => {
    const answer = task.elicit("q", question);
    await task.step("render", () => 1);
    await task.status("rendered");
    await task.step("notify", () => 2);
    return text((await answer).action);
  };

  it.each(["record_step", "open_input", "update"] as const)(
    "steps go on after a crash at %s, although the question is open",
    async (call) => {
      expect([...(await crashAt(call, notifies))].sort()).toEqual(["notify", "q", "render"]);
    },
  );

  it("a question that is about to be put is put, although another one is open", async () => {
    const handler: Handler = async (_, task) => {
      const first = task.elicit("first", question);
      void task.step("beside", () => 1);
      await task.step("before", () => 2);
      await task.elicit("second", question);
      return text((await first).action);
    };
    const process = await Process.started({ tools: { handler }, options: { maxParkedFrames: 0 } });
    const id = await process.callId("handler");
    await process.asked(id, 2);
    await process.until(id, ({ task }) => task.state === "queued");
    await process.answer(id, "first", yes);
    await process.answer(id, "second", yes);
    expect(bodyOf(await process.ended(id))).toEqual(text("accept"));
  });

  it("a sleep begins again after a crash that lost it, although a question is open", async () => {
    const handler: Handler = async (_, task) => {
      await Promise.all([task.sleep("nap", minute), task.elicit("q", question)]);
      return text("done");
    };
    const held = new Held("sleep");
    const first = await Process.started({ tools: { handler }, before: held.before });
    const id = await first.callId("handler");
    await held.reached;
    await first.asked(id);
    await rest();
    const second = await first.crash({ tools: { handler } });
    await second.journalHas(id, "nap");
  });

  it("a handler that has returned waits for no question that it left open", async () => {
    const handler: Handler = async (_, task) => {
      await Promise.race([task.elicit("q", question), task.step("faster", () => gate.promise)]);
      return text(`done in attempt ${task.attempt}`);
    };
    const gate = Promise.withResolvers<number>();
    const held = new Held("settle");
    const first = await Process.started({ tools: { handler }, before: held.before });
    const id = await first.callId("handler");
    await first.asked(id);
    gate.resolve(1);
    await held.reached;
    await rest();
    const second = await first.crash({ tools: { handler } });
    expect(bodyOf(await second.ended(id))).toEqual(text("done in attempt 2"));
  });

  it("a step that begins while the record says that the handler waits takes that back first", async () => {
    const gate = Promise.withResolvers<void>();
    const handler: Handler = async (_, task) => {
      const answer = task.elicit("q", question);
      await gate.promise;
      await task.step("later", () => gates.promise);
      return text((await answer).action);
    };
    const gates = Promise.withResolvers<number>();
    const process = await Process.started({ tools: { handler } });
    const id = await process.callId("handler");
    await process.until(id, ({ task }) => task.waiting);
    gate.resolve();
    await process.until(id, ({ task }) => !task.waiting && task.state === "running");
    gates.resolve(1);
    await process.until(id, ({ task }) => task.waiting);
    await process.answer(id, "q", yes);
    expect(bodyOf(await process.ended(id))).toEqual(text("accept"));
  });
});
