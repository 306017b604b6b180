import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { TaskContext } from "../../src/runtime/tool/task-context.ts";
import { rest } from "../../src/testing/clocks.ts";
import { bodyOf, Process, text, type Handler } from "./harness.ts";
import { Held } from "./watched-store.ts";

const grace = 1_000;
const options = { unregisteredGraceMs: grace };
const textOf = (body: Record<string, unknown>): unknown => body["content"];

function started(tools: Record<string, Handler> = {}, before?: Held["before"]): Promise<Process> {
  return Process.started({ tools, options: { ...options, concurrency: 1 }, ...(before && { before }) });
}

/** A handler that waits until it is let go, and says how far it is. */
function gated() {
  const begun = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const handler: Handler = async () => {
    begun.resolve();
    await gate.promise;
    return text("ended");
  };
  return { handler, begun: begun.promise, open: () => gate.resolve() };
}

describe("a tool that is registered after the start", () => {
  it("runs calls at once", async () => {
    const process = await started();
    const tool = process.runtime.registry.add("late", {}, () => text("late"));
    expect(tool).toMatchObject({ name: "late", enabled: true });
    const id = await process.callId("late");
    expect(textOf(bodyOf(await process.ended(id)))).toEqual([{ type: "text", text: "late" }]);
  });

  it("takes over what was queued for it before this process was there", async () => {
    const first = await started({ report: () => new Promise<never>(() => undefined) });
    await first.callId("report"); // has the only slot
    const id = await first.callId("report");
    const second = await first.crash({ tools: {}, options });
    await second.clock.advance(grace / 2);
    second.runtime.registry.add("report", { onCrash: "resume" }, () => text("taken over"));
    expect(textOf(bodyOf(await second.ended(id)))).toEqual([{ type: "text", text: "taken over" }]);
  });
});

describe("a tool that was removed", () => {
  it("goes on where it runs, and blocks what is queued after the grace, until it is there again", async () => {
    const gate = gated();
    const process = await started();
    const tool = process.runtime.registry.add("report", {}, gate.handler);
    const running = await process.callId("report");
    await gate.begun;
    const queued = await process.callId("report");
    tool.remove();
    expect(tool.enabled).toBe(false);
    await expect(process.callId("report")).rejects.toMatchObject({ code: "invalid_params" });
    await rest();
    await process.clock.advance(grace);
    expect((await process.get(queued)).task.state).toBe("queued");
    await process.clock.advance(grace);
    const { task } = await process.until(queued, ({ task: { blocked } }) => blocked !== undefined);
    expect(task.blocked).toMatchObject({ reason: "tool", problem: 'No process has the tool "report".' });
    gate.open();
    expect(textOf(bodyOf(await process.ended(running)))).toEqual([{ type: "text", text: "ended" }]);
    process.runtime.registry.add("report", {}, () => text("back"));
    expect(textOf(bodyOf(await process.ended(queued)))).toEqual([{ type: "text", text: "back" }]);
  });

  it("gets what is queued when it is registered again within the grace", async () => {
    const gate = gated();
    const process = await started({ blocks: gate.handler });
    const { registry } = process.runtime;
    const tool = registry.add("report", {}, () => text("old"));
    await process.callId("blocks");
    await gate.begun;
    const id = await process.callId("report");
    tool.remove();
    await rest();
    await process.clock.advance(grace);
    registry.add("report", {}, () => text("new"));
    await rest();
    await process.clock.advance(3 * grace);
    expect((await process.get(id)).task.state).toBe("queued");
    gate.open();
    expect(textOf(bodyOf(await process.ended(id)))).toEqual([{ type: "text", text: "new" }]);
  });

  it("runs what a claim took that was under way", async () => {
    const gate = gated();
    const held = new Held("claim");
    const process = await started({ blocks: gate.handler }, held.before);
    const tool = process.runtime.registry.add("report", {}, () => text("claimed"));
    await process.callId("blocks");
    await gate.begun;
    const id = await process.callId("report");
    gate.open();
    await held.reached;
    tool.remove();
    held.open();
    expect(textOf(bodyOf(await process.ended(id)))).toEqual([{ type: "text", text: "claimed" }]);
  });

  it("keeps the frame of a handler that waits, which could not come back", async () => {
    const process = await Process.started({ tools: {}, options: { ...options, maxParkedFrames: 0 } });
    const asks = async (_: unknown, task: TaskContext) =>
      text(
        JSON.stringify(
          await task.elicit("name", { message: "Who?", requestedSchema: { type: "object", properties: {} } }),
        ),
      );
    let removes: () => void = () => undefined;
    const tool = process.runtime.registry.add("asks", {}, (args, task) => {
      removes();
      return asks(args, task);
    });
    removes = () => tool.remove();
    const id = await process.callId("asks");
    const { inputs } = await process.asked(id);
    await process.answer(id, inputs[0]?.key ?? "", { action: "decline" });
    expect(textOf(bodyOf(await process.ended(id)))).toEqual([{ type: "text", text: '{"action":"decline"}' }]);
  });

  it("says how to have it again where it is changed, and can be removed twice", async () => {
    const { runtime } = await started();
    const tool = runtime.registry.add("report", {}, () => text("old"));
    tool.remove();
    tool.remove();
    for (const change of [() => tool.enable(), () => tool.disable(), () => tool.update({ title: "t" })])
      expect(change).toThrow('Tool "report" was removed: register it again');
    const next = runtime.registry.add("report", {}, () => text("new"));
    tool.remove();
    expect(next.enabled).toBe(true);
    expect(runtime.registry.get("report")).toBeDefined();
  });
});

describe("a tool that is updated", () => {
  it("goes on as it began where it runs, and is the new one in later attempts", async () => {
    const process = await started();
    const gate = gated();
    const tool = process.runtime.registry.add("report", {}, gate.handler);
    const running = await process.callId("report");
    await gate.begun;
    const queued = await process.callId("report");
    tool.update({ handler: () => text("new"), description: "The new one" });
    gate.open();
    expect(textOf(bodyOf(await process.ended(running)))).toEqual([{ type: "text", text: "ended" }]);
    expect(textOf(bodyOf(await process.ended(queued)))).toEqual([{ type: "text", text: "new" }]);
    expect(process.runtime.registry.get("report")).toMatchObject({ description: "The new one" });
  });

  it("takes another schema with the handler for it", async () => {
    const process = await started();
    const inputSchema = z.object({ month: z.string() });
    const tool = process.runtime.registry.add("report", { inputSchema, title: "Report" }, ({ month }) =>
      text(month),
    );
    tool.update({
      inputSchema: z.object({ year: z.number() }),
      handler: ({ year }) => text(String(year + 1)),
    });
    // @ts-expect-error the schema is another one, and the handler is not
    const another = (): void => tool.update({ inputSchema: z.object({ year: z.number() }) });
    // @ts-expect-error the arguments are those of the schema
    const wrong = (): void => tool.update({ handler: (args: { day: string }) => text(args.day) });
    void [another, wrong];
    const id = await process.callId("report", { arguments: { year: 2026 } });
    expect(textOf(bodyOf(await process.ended(id)))).toEqual([{ type: "text", text: "2027" }]);
    expect(process.runtime.registry.get("report")).toMatchObject({ title: "Report" });
  });

  it("stays as it was where the change is wrong", async () => {
    const { runtime } = await started();
    const tool = runtime.registry.add("report", { title: "Report" }, () => text("old"));
    const before = runtime.registry.get("report");
    const wrong: readonly [change: unknown, says: string][] = [
      [{ title: "new", plain: "sometimes" }, 'Tool "report": plain must be "wait" or "ticket"'],
      [{ name: "other" }, 'Tool "report"'],
      [{ handler: "none" }, 'Tool "report" has no handler'],
      [undefined, 'update of tool "report" needs the changes'],
      [() => text("new"), 'update of tool "report" needs the changes'],
    ];
    for (const [change, says] of wrong) expect(() => tool.update(change as object)).toThrow(says);
    expect(runtime.registry.get("report")).toBe(before);
  });
});

describe("a tool that is disabled", () => {
  it("is not there for clients, and goes on for its tasks and for handlers", async () => {
    const process = await started({ calls: async (_, task) => task.call("c", "report", {}) });
    const { registry } = process.runtime;
    const gate = gated();
    const tool = registry.add("report", {}, gate.handler);
    const id = await process.callId("report");
    await gate.begun;
    tool.disable();
    expect([tool.enabled, registry.get("report"), registry.all().length]).toEqual([false, undefined, 2]);
    gate.open();
    expect((await process.ended(id)).task.state).toBe("settled");
    const calls = await process.callId("calls");
    expect(textOf(bodyOf(await process.ended(calls)))).toEqual([{ type: "text", text: "ended" }]);
    tool.enable();
    expect([tool.enabled, registry.get("report")?.name]).toEqual([true, "report"]);
  });
});
