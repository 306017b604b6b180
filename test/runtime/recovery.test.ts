import { describe, expect, it } from "vitest";
import { bodyOf, nobody, Process, text, type Handler } from "./harness.ts";

const never = new Promise<never>(() => undefined);
const hang: Handler = () => never;
const done: Handler = (_, task) => text(`attempt ${task.attempt}`);

describe("after a crash", () => {
  it("fails a task that may have done something and cannot be run again, and says why", async () => {
    const first = await Process.started({ tools: { once: hang } });
    const id = await first.callId("once");
    const second = await first.crash({ tools: { once: done } });
    const ended = await second.ended(id);
    expect(bodyOf(ended)).toMatchObject({
      code: -32603,
      message: expect.stringContaining("not marked as safe"),
    });
    expect(ended.task.statusMessage).toContain("not marked as safe");
  });

  it.each([
    ["is marked idempotent", { annotations: { idempotentHint: true } }],
    ["is marked read-only", { annotations: { readOnlyHint: true } }],
    ["says so itself", { onCrash: "resume" as const }],
  ])("runs a task again whose tool %s", async (_, config) => {
    const first = await Process.started({ tools: { again: { config, handler: hang } } });
    const id = await first.callId("again");
    const second = await first.crash({ tools: { again: { config, handler: done } } });
    expect(bodyOf(await second.ended(id))).toEqual(text("attempt 2"));
  });

  it("runs a task that never began, whatever its tool", async () => {
    const first = await Process.started({
      tools: { hang, once: { config: { onCrash: "fail" }, handler: done } },
      options: { concurrency: 1 },
    });
    await first.callId("hang");
    const id = await first.callId("once");
    expect((await first.get(id)).task.startedAt).toBeNull();
    const second = await first.crash({
      tools: { hang, once: { config: { onCrash: "fail" }, handler: done } },
    });
    expect(bodyOf(await second.ended(id))).toEqual(text("attempt 1"));
  });

  it("does not resume a journalled task of a tool that says fail", async () => {
    const handler: Handler = (_, task) => task.step("s", () => never);
    const tools = { careful: { config: { onCrash: "fail" as const }, handler } };
    const first = await Process.started({ tools });
    const id = await first.callId("careful");
    await first.until(id, ({ task }) => task.journalled);
    const second = await first.crash({ tools });
    expect(bodyOf(await second.ended(id))).toMatchObject({ code: -32603 });
  });

  it("pauses longer with each crash in a row, and gives up after the fifth", async () => {
    const tools = { poison: { config: { onCrash: "resume" as const }, handler: hang } };
    let process = await Process.started({ tools });
    const id = await process.callId("poison");
    const pauses = [0, 1_000, 2_000, 4_000];
    for (const pause of pauses) {
      process = await process.crash({ tools });
      if (pause > 0) {
        await process.clock.advance(pause - 1);
        expect((await process.get(id)).task.state).toBe("queued");
        await process.clock.advance(1);
      }
      await process.until(id, ({ task }) => task.state === "running");
    }
    process = await process.crash({ tools });
    expect(bodyOf(await process.ended(id))).toMatchObject({
      code: -32603,
      message: expect.stringContaining("the server crashed 5 times"),
    });
  });

  it("counts no crash against a task that waited for its client", async () => {
    const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
    const handler: Handler = async (_, task) => text((await task.elicit("q", question)).action);
    const tools = { handler: { config: { park: false }, handler } };
    let process = await Process.started({ tools });
    const id = await process.callId("handler");
    for (let crash = 0; crash < 8; crash++) {
      await process.until(id, ({ task }) => task.waiting && task.state === "running");
      process = await process.crash({ tools });
    }
    await process.until(id, ({ task }) => task.waiting);
    await process.answer(id, "q", { action: "accept", content: {} });
    expect(bodyOf(await process.ended(id))).toEqual(text("accept"));
  });

  it("counts no crash against a task that made progress since", async () => {
    const handler =
      (steps: number): Handler =>
      async (_, task) => {
        for (let n = 0; n < steps; n++) await task.step(["s", n], () => n);
        return steps < 9 ? never : text("through");
      };
    let process = await Process.started({ tools: { handler: handler(1) } });
    const id = await process.callId("handler");
    for (let steps = 2; steps <= 9; steps++) {
      await process.until(id, ({ task }) => task.crashes === 0 && task.state === "running");
      process = await process.crash({ tools: { handler: handler(steps) } });
    }
    expect(bodyOf(await process.ended(id))).toEqual(text("through"));
  });

  it("blocks a task whose tool is gone, and fails it when that was so for long", async () => {
    const first = await Process.started({ tools: { old: hang } });
    const id = await first.callId("old");
    const second = await first.crash({ tools: {} });
    await second.clock.advance(59_999);
    expect((await second.get(id)).task).toMatchObject({ state: "queued", crashes: 1 });
    expect((await second.get(id)).task).not.toHaveProperty("blocked");
    await second.clock.advance(1);
    const { task } = await second.until(id, ({ task: { blocked } }) => blocked !== undefined);
    expect(task.blocked).toMatchObject({ reason: "tool", was: 'the tool "old"', tries: 1 });
    await second.clock.advance(7 * 86_400_000);
    expect(bodyOf(await second.ended(id))["message"]).toMatch(
      /^Gave up: since .*, for 7 days, .* No process has the tool "old"\.$/,
    );
  });

  it("leaves a blocked task its time although the clock is set ahead", async () => {
    const first = await Process.started({ tools: { old: hang }, options: { ttlMs: null } });
    const id = await first.callId("old");
    const second = await first.crash({ tools: {}, options: { ttlMs: null } });
    await second.clock.advance(60_000);
    await second.until(id, ({ task: { blocked } }) => blocked !== undefined);
    second.clock.jump(30 * 86_400_000);
    for (let hours = 0; hours < 7 * 24; hours += 12) {
      expect((await second.get(id)).task).toMatchObject({ state: "queued", blocked: { reason: "tool" } });
      await second.clock.advance(12 * 3_600_000);
    }
    await second.ended(id);
  });

  it("cancels instead of running what was to be cancelled and had begun no step", async () => {
    const tools = { again: { config: { annotations: { idempotentHint: true } }, handler: hang } };
    const first = await Process.started({ tools });
    const id = await first.callId("again");
    await first.until(id, ({ task }) => task.state === "running");
    await first.runtime.cancel(id, nobody);
    const second = await first.crash({ tools });
    const { task, outcome } = await second.ended(id);
    expect([task.state, outcome]).toEqual(["cancelled", null]);
  });
});

describe("an orderly stop", () => {
  it("drops a handler at its next journalled call, running none of its own clean-up, and resumes it later", async () => {
    const cleanUps: string[] = [];
    const gate = Promise.withResolvers<void>();
    const handler: Handler = async (_, task) => {
      try {
        await task.step("one", () => gate.promise);
        await task.step("two", () => undefined);
      } catch {
        cleanUps.push("catch");
      } finally {
        cleanUps.push(`finally ${task.attempt}`);
      }
      return text(`attempt ${task.attempt}`);
    };
    const first = await Process.started({ tools: { handler } });
    const id = await first.callId("handler");
    await first.until(id, ({ task }) => task.journalled);
    const stopping = first.restart({ tools: { handler } });
    await expect(first.call("handler")).rejects.toMatchObject({ code: "stopping" });
    gate.resolve();
    const second = await stopping;
    const ended = await second.ended(id);
    expect(bodyOf(ended)).toEqual(text("attempt 2"));
    expect(ended.task.crashes).toBe(0);
    expect(cleanUps).toEqual(["finally 2"]);
  });

  it("gives back at once what waits for its client", async () => {
    const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
    const cleanUps: number[] = [];
    const handler: Handler = async (_, task) => {
      try {
        return text((await task.elicit("q", question)).action);
      } finally {
        cleanUps.push(task.attempt);
      }
    };
    const first = await Process.started({ tools: { handler } });
    const id = await first.callId("handler");
    await first.asked(id);
    const second = await first.restart({ tools: { handler } });
    await second.answer(id, "q", { action: "accept", content: {} });
    expect(bodyOf(await second.ended(id))).toEqual(text("accept"));
    expect(cleanUps).toEqual([2]);
  });

  it("takes the task from a handler that does not end in time, and tells it so", async () => {
    const reasons: unknown[] = [];
    const handler: Handler = (_, task) => {
      task.signal.addEventListener("abort", () =>
        reasons.push((task.signal.reason as { code?: string }).code),
      );
      return never;
    };
    const config = { onCrash: "resume" as const };
    const first = await Process.started({ tools: { stuck: { config, handler } } });
    const id = await first.callId("stuck");
    await first.until(id, ({ task }) => task.state === "running");
    const stopping = first.restart({ tools: { stuck: { config, handler: done } } });
    await first.clock.advance(10_000);
    const second = await stopping;
    expect(bodyOf(await second.ended(id))).toEqual(text("attempt 2"));
    expect(reasons).toEqual(["stopping"]);
  });

  it("lets a handler that is about to end do so", async () => {
    const gate = Promise.withResolvers<void>();
    const first = await Process.started({
      tools: {
        ends: async () => {
          await gate.promise;
          return text("first");
        },
      },
    });
    const id = await first.callId("ends");
    const stopping = first.restart({ tools: {} });
    gate.resolve();
    const second = await stopping;
    expect(bodyOf(await second.get(id))).toEqual(text("first"));
  });
});
