import { describe, expect, it } from "vitest";
import type { ServerEvent } from "../../../src/runtime/events/server-event.ts";
import { nobody, Process, text, type Handler, type Setup } from "../harness.ts";

const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };

function eventsOf(process: Process, taskId: string): ServerEvent[] {
  return process.events.filter((event) => "taskId" in event && event.taskId === taskId);
}

function typesOf(process: Process, taskId: string): string[] {
  return eventsOf(process, taskId).map(({ type }) => type);
}

function started(tools: Setup["tools"], options: Setup["options"] = {}): Promise<Process> {
  return Process.started({ tools, options, onEvent: true });
}

describe("what is told of a task", () => {
  it("is its whole story, in order, with whose it is", async () => {
    const process = await started({
      report: async (_, task) => {
        await task.step("read", () => "a line");
        await task.elicit("sure", question);
        return text("done");
      },
    });
    const id = await process.callId("report", { principal: "ada" });
    const { clock, runtime } = process;
    const ada = { ...nobody, principal: "ada" };
    await process.until(id, ({ inputs }) => inputs.length === 1, ada);
    await clock.advance(5_000);
    await runtime.answer(id, ada, [{ key: "sure", value: '{"action":"decline"}' }]);
    await process.until(id, ({ task }) => task.state === "settled", ada);

    const of = { taskId: id, tool: "report", principal: "ada", generation: "2026-07-28", attempt: 1 };
    const at = clock.now() - 5_000;
    expect(eventsOf(process, id)).toEqual([
      { type: "task.created", at, ...of, attempt: 0 },
      { type: "task.started", at, ...of, resumed: false, queuedMs: 0, crashes: 0 },
      { type: "task.step", at, ...of, key: "read", outcome: "done", durationMs: 0 },
      { type: "task.question", at, ...of, key: "sure", method: "elicitation/create" },
      { type: "task.answered", at: at + 5_000, ...of, keys: ["sure"] },
      { type: "task.settled", at: at + 5_000, ...of, durationMs: 5_000, outcome: "result" },
    ]);
    expect(process.errors).toEqual([]);
  });

  it("is how long it was queued, from its creation to its first attempt", async () => {
    const gate = Promise.withResolvers<void>();
    const process = await started(
      { slow: async () => (await gate.promise, text("done")) },
      { concurrency: 1 },
    );
    await process.callId("slow");
    const second = await process.callId("slow");
    await process.clock.advance(700);
    gate.resolve();
    await process.ended(second);
    expect(eventsOf(process, second)[1]).toMatchObject({ type: "task.started", queuedMs: 700 });
  });

  it("is what its handler threw, with the stack of where it did", async () => {
    class Refused extends Error {
      override readonly name = "Refused";
      readonly code = "card_declined";
      readonly response = { body: "all that the bank said" };
    }
    const process = await started({
      pays: () => {
        throw new Refused("no money", { cause: new Error("the bank said no") });
      },
    });
    const id = await process.callId("pays");
    await process.ended(id);
    const settled = eventsOf(process, id).at(-1);
    expect(settled).toMatchObject({
      type: "task.settled",
      outcome: "error_result",
      error: { name: "Refused", message: "no money", code: "card_declined" },
    });
    const { stack = "" } = (settled?.type === "task.settled" && settled.error) || {};
    expect(stack).toMatch(/no money[^]*task-events\.test\.ts[^]*caused by: Error: the bank said no/);
    expect(JSON.stringify(settled)).not.toContain("all that");
  });

  it("is no text of a result that says itself that the tool failed", async () => {
    const process = await started({ odd: () => ({ ...text("private"), isError: true }) });
    const id = await process.callId("odd");
    await process.ended(id);
    const settled = eventsOf(process, id).at(-1);
    expect(settled).toMatchObject({ type: "task.settled", outcome: "error_result" });
    expect(settled).not.toHaveProperty("error");
  });

  it("is each failure after which it runs again", async () => {
    let runs = 0;
    const handler: Handler = () => {
      if (runs++ === 0) throw new Error("busy");
      return text("done");
    };
    const process = await started({ flaky: { config: { retry: { attempts: 3 } }, handler } });
    const id = await process.callId("flaky");
    await process.until(id, ({ task }) => task.failures === 1);
    await process.clock.advance(60_000);
    await process.ended(id);
    const events = eventsOf(process, id);
    expect(events.map(({ type }) => type)).toEqual([
      "task.created",
      "task.started",
      "task.retried",
      "task.started",
      "task.settled",
    ]);
    expect(events[2]).toMatchObject({
      failures: 1,
      until: expect.any(Number) as number,
      error: { message: "busy", stack: expect.stringContaining("task-events.test.ts") as string },
    });
    expect(events[3]).toMatchObject({ attempt: 2, resumed: true });
    expect(events[4]).not.toHaveProperty("error");
  });

  it("is each failed try of a step, and how the step ended", async () => {
    const process = await started({
      fetches: async (_, task) => {
        const broken = (): never => {
          process.clock.jump(300);
          throw Object.assign(new Error("timeout"), { data: "private" });
        };
        await task.step("get", { retries: 1 }, broken).catch(() => undefined);
        return text("done");
      },
    });
    const id = await process.callId("fetches");
    await process.until(id, () => typesOf(process, id).includes("task.step"));
    await process.clock.advance(60_000);
    await process.ended(id);
    const steps = eventsOf(process, id).filter(({ type }) => type === "task.step");
    expect(steps).toMatchObject([
      {
        key: "get",
        outcome: "retried",
        durationMs: 300,
        tries: 1,
        error: { name: "Error", message: "timeout" },
      },
      { key: "get", outcome: "failed", error: { name: "Error", message: "timeout" } },
    ]);
    const [, failed] = steps;
    expect(failed).toMatchObject({ durationMs: expect.toSatisfy((ms: number) => ms > 600) as number });
    expect(JSON.stringify(steps)).not.toContain("private");
  });

  it("is that another task made it", async () => {
    const process = await started({
      parent: async (_, task) => {
        await task.call("part", "child", {});
        return text("done");
      },
      child: () => text("part"),
    });
    const id = await process.callId("parent");
    await process.ended(id);
    const children = process.events.filter((event) => "parentId" in event);
    expect(children.map(({ type }) => type)).toEqual(["task.created", "task.started", "task.settled"]);
    for (const child of children) {
      expect(child).toMatchObject({ tool: "child", parentId: id, generation: "child" });
    }
  });

  it("is its cancel: that it was asked for, once, and that it ended", async () => {
    const process = await started({ waits: (_, task) => task.elicit("q", question).then(() => text("")) });
    const id = await process.callId("waits");
    await process.asked(id);
    await process.cancel(id);
    await process.clock.advance(1);
    await process.cancel(id).catch(() => undefined);
    await process.clock.advance(60_000);
    expect(typesOf(process, id).slice(2)).toEqual([
      "task.question",
      "task.cancel_requested",
      "task.cancelled",
    ]);
  });

  it("is the end of its time, and its deletion", async () => {
    const process = await started(
      { waits: (_, task) => task.elicit("q", question).then(() => text("")), quick: () => text("") },
      { requestedTtl: "task" },
    );
    const late = await process.callId("waits", { ttlMs: 5_000 });
    await process.asked(late);
    await process.clock.advance(5_000);
    expect(eventsOf(process, late).at(-1)).toMatchObject({ type: "task.expired", durationMs: 5_000 });
    const quick = await process.callId("quick");
    await process.ended(quick);
    await process.runtime.delete(quick, nobody);
    expect(typesOf(process, quick)).toEqual(["task.created", "task.started", "task.settled", "task.deleted"]);
  });

  it("is that its handler's memory was freed, until when, and that it goes on", async () => {
    const process = await started(
      {
        sleeps: async (_, task) => {
          await task.sleep("night", 60_000);
          return text("done");
        },
      },
      { maxParkedFrames: 0 },
    );
    const id = await process.callId("sleeps");
    await process.until(id, ({ task }) => task.state === "queued");
    const until = process.clock.now() + 60_000;
    await process.clock.advance(60_000);
    await process.ended(id);
    expect(eventsOf(process, id).slice(2)).toMatchObject([
      { type: "task.parked", until },
      { type: "task.started", resumed: true },
      { type: "task.settled" },
    ]);
  });

  it("is nothing of a call that is answered before it becomes a task", async () => {
    const process = await started({ quick: { config: { promoteAfterMs: 1_000 }, handler: () => text("") } });
    const { signal } = new AbortController();
    const call = { ...nobody, tool: "quick", arguments: {}, origin: { capabilities: {} } };
    await process.runtime.call(call, signal);
    expect(process.events).toEqual([]);
  });
});

describe("after a crash", () => {
  const resumes: Setup = {
    tools: {
      long: async (_, task) => {
        await task.step("first", () => 1);
        await task.elicit("q", question);
        return text("done");
      },
    },
    onEvent: true,
  };

  it("the next process tells that it resumes, and what was journalled is told no second time", async () => {
    const first = await Process.started(resumes);
    const id = await first.callId("long");
    await first.asked(id);
    const second = await first.crash(resumes);
    await second.answer(id, "q", { action: "decline" });
    await second.ended(id);
    expect(typesOf(first, id)).toEqual(["task.created", "task.started", "task.step", "task.question"]);
    expect(eventsOf(second, id)).toMatchObject([
      { type: "task.answered" },
      { type: "task.started", resumed: true, attempt: 2 },
      { type: "task.settled", outcome: "result" },
    ]);
    expect(second.events).toContainEqual(expect.objectContaining({ type: "owner.lost", tasks: 1 }));
  });

  it("a task that must not run again is told to have failed, and why", async () => {
    const gate = new Promise<never>(() => undefined);
    const setup: Setup = {
      tools: { once: { config: { onCrash: "fail" }, handler: () => gate } },
      onEvent: true,
    };
    const first = await Process.started(setup);
    const id = await first.callId("once");
    const second = await first.crash(setup);
    await second.ended(id);
    expect(eventsOf(second, id).at(-1)).toMatchObject({
      type: "task.settled",
      outcome: "error",
      error: { message: expect.stringContaining("not marked as safe") as string },
    });
  });

  it("a stop tells of what it gives back", async () => {
    const gate = new Promise<never>(() => undefined);
    const process = await Process.started({ tools: { idle: () => gate }, onEvent: true });
    const id = await process.callId("idle");
    const stopped = process.runtime.stop();
    await process.clock.advance(60_000);
    await stopped;
    expect(typesOf(process, id)).toEqual(["task.created", "task.started", "task.released"]);
  });
});
