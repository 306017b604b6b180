import { describe, expect, it } from "vitest";
import { rest } from "../../src/testing/clocks.ts";
import { bodyOf, nobody, Process, text, type Handler, type Setup } from "./harness.ts";

const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
const yes = { action: "accept", content: {} };

const double: Handler = async ({ n }, task) => {
  const doubled = await task.step("double", () => Number(n) * 2);
  return text(String(doubled));
};
const wordOf = (result: { content?: readonly unknown[] }): string => JSON.stringify(result.content?.[0]);

/** Calls `name` once and says what it got. */
const calls =
  (name: string, args: Record<string, unknown> = { n: 2 }): Handler =>
  async (_, task) =>
    text(`${wordOf(await task.call("it", name, args))} in attempt ${task.attempt}`);

/** Every frame is dropped as soon as its handler waits. */
const dropping = { maxParkedFrames: 0 };

async function unfinished(process: Process): Promise<readonly string[]> {
  return (await process.store.unfinished("", 100)).map(({ id }) => id);
}

describe("a call of another tool", () => {
  it.each([undefined, dropping])("comes back with its result, and its task is gone (%o)", async (options) => {
    const tools = { double, root: calls("double") };
    const process = await Process.started({ tools, ...(options && { options }) });
    const id = await process.callId("root");
    expect(bodyOf(await process.ended(id))).toMatchObject({
      content: [{ text: expect.stringContaining('"4"') as string }],
    });
    expect(await unfinished(process)).toEqual([]);
    expect(process.errors).toEqual([]);
  });

  it("is made once, whatever dies: its task goes on without its parent, and the parent finds the result", async () => {
    let runs = 0;
    const gate = Promise.withResolvers<void>();
    const slow: Handler = async (_, task) => {
      await task.step("once", () => void runs++);
      await gate.promise;
      return text("slow");
    };
    const setup: Setup = {
      tools: { slow: { config: { onCrash: "resume" }, handler: slow }, root: calls("slow") },
    };
    const first = await Process.started(setup);
    const id = await first.callId("root");
    await rest();
    expect(runs).toBe(1);
    const second = await first.crash(setup);
    await rest();
    gate.resolve();
    expect(bodyOf(await second.ended(id))).toMatchObject({
      content: [{ text: expect.stringContaining("slow") as string }],
    });
    expect(runs).toBe(1);
    expect(await unfinished(second)).toEqual([]);
  });

  it("rejects where the tool fails, on a replay too", async () => {
    const fails: Handler = () => Promise.reject(new Error("broken"));
    const root: Handler = async (_, task) => {
      const end = await task.call("it", "fails").then(
        () => "returned",
        () => "caught",
      );
      await task.elicit("q", question);
      return text(end);
    };
    const setup: Setup = { tools: { fails, root }, options: dropping };
    const process = await Process.started(setup);
    const id = await process.callId("root");
    await process.until(id, ({ inputs }) => inputs.length > 0);
    await process.answer(id, "q", yes);
    expect(bodyOf(await process.ended(id))).toEqual(text("caught"));
  });

  it.each([undefined, dropping])("hears of a cancel of its parent (%o)", async (options) => {
    const heard: string[] = [];
    const waits: Handler = async (_, task) => {
      try {
        await task.sleep("long", 1_000_000);
      } finally {
        if (task.signal.aborted) heard.push("child");
      }
      return text("slept");
    };
    const tools = { waits, root: calls("waits") };
    const process = await Process.started({ tools, ...(options && { options }) });
    const id = await process.callId("root");
    await rest();
    await process.runtime.cancel(id, nobody);
    const { task } = await process.ended(id);
    expect(task.state).toBe("cancelled");
    await rest();
    await process.clock.advance(10_000);
    expect(await unfinished(process)).toEqual([]);
    expect(heard).toEqual(["child"]);
  });

  it("ends with its parent that did not wait for it", async () => {
    const waits: Handler = async (_, task) => {
      await task.sleep("long", 1_000_000);
      return text("slept");
    };
    const root: Handler = async (_, task) => {
      void task.call("it", "waits").catch(() => undefined);
      await task.sleep("a while", 10);
      return text("did not wait");
    };
    const process = await Process.started({ tools: { waits, root } });
    const id = await process.callId("root");
    await rest();
    await process.clock.advance(10);
    expect(bodyOf(await process.ended(id))).toEqual(text("did not wait"));
    await rest();
    expect(await unfinished(process)).toEqual([]);
  });

  it("shows its questions on the root", async () => {
    const asks: Handler = async (_, task) => text((await task.elicit("q", question)).action);
    const middle = calls("asks");
    const process = await Process.started({
      tools: { asks, middle, root: calls("middle") },
      options: dropping,
    });
    const id = await process.callId("root");
    const { task, inputs } = await process.until(id, (seen) => seen.inputs.length > 0);
    expect(task).toMatchObject({ openInputs: 1, childInputs: 1 });
    expect(inputs).toMatchObject([{ method: "elicitation/create" }]);
  });

  it.each([
    ["nothing", {}, "this server has no tool"],
    ["direct", {}, "never runs as a task"],
  ])("of %s is refused", async (name, args, problem) => {
    const direct = { config: { task: "forbidden" as const }, handler: double };
    const process = await Process.started({ tools: { direct, root: calls(name, args) } });
    const id = await process.callId("root");
    expect(JSON.stringify(bodyOf(await process.ended(id)))).toContain(problem);
    expect(await unfinished(process)).toEqual([]);
  });

  it.each([
    ["sixteen", {}, 16],
    ["maxCallDepth", { maxCallDepth: 3 }, 3],
  ])("cannot go deeper than %s", async (_, options, depth) => {
    let runs = 0;
    const root: Handler = (args, task) => {
      runs++;
      return calls("root")(args, task);
    };
    const process = await Process.started({ tools: { root }, options: { concurrency: 64, ...options } });
    const id = await process.callId("root");
    expect(JSON.stringify(bodyOf(await process.ended(id)))).toContain(`${depth} levels deep`);
    expect(runs).toBe(depth + 1);
    expect(await unfinished(process)).toEqual([]);
  });
});

describe("the task of a call", () => {
  const sleeps: Handler = async (_, task) => {
    await task.sleep("long", 1_000_000);
    return text("slept");
  };
  const caught: Handler = async (_, task) => {
    await task.call("it", "sleeps").catch(() => undefined);
    return text("went on");
  };

  it("ends with its time, and its parent goes on then", async () => {
    const limited = { config: { maxRunMs: 3_000, park: false }, handler: sleeps };
    const process = await Process.started({
      tools: { sleeps: limited, caught },
      options: { concurrency: 1 },
    });
    const id = await process.callId("caught");
    await rest();
    await process.clock.advance(3_000);
    expect(bodyOf(await process.ended(id))).toEqual(text("went on"));
  });

  it("costs its principal nothing, and is in nobody's list", async () => {
    const ann = { principal: "ann", generation: "2026-07-28" } as const;
    const options = { maxUnfinishedPerPrincipal: 2 };
    const process = await Process.started({ tools: { sleeps, caught }, options });
    await process.call("caught", ann);
    await rest();
    await process.call("caught", ann);
    await rest();
    expect(await unfinished(process)).toHaveLength(4);
    await expect(process.call("caught", ann)).rejects.toMatchObject({ code: "limit_reached" });
    expect(await process.runtime.list(ann, { limit: 9 })).toHaveLength(2);
    const child = (await process.store.unfinished("", 9)).find(({ generation }) => generation === "child");
    await expect(process.runtime.get(child?.id ?? "", ann)).rejects.toMatchObject({ code: "unknown_task" });
  });
});
