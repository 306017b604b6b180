import type { CallToolResult } from "@modelcontextprotocol/server";
import { describe, expect, expectTypeOf, it } from "vitest";
import * as z from "zod";
import { createTasks, type TaskContext, type ToolResult } from "../../src/index.ts";
import { memoryStore } from "../../src/memory.ts";
import { rest } from "../../src/testing/clocks.ts";
import { bodyOf, Process, text, type Handler } from "./harness.ts";

it("infers the result of each call of a list, and of lists that are made", () => {
  const tasks = createTasks({ store: memoryStore() });
  const outputSchema = z.object({ degrees: z.number() });
  const city = z.object({ city: z.string() });
  const forecast = tasks.tool("forecast", { inputSchema: city, outputSchema }, () => text("never run"));
  const plain = tasks.tool("plain", { inputSchema: z.object({ n: z.number() }) }, () => text("never run"));
  tasks.tool("root", {}, async (_, task) => {
    const [weather, other, named] = await task.all("three", [
      { tool: forecast, arguments: { city: "Bern" } },
      { tool: plain, arguments: { n: 1 } },
      { tool: "plain", arguments: {} },
    ]);
    expectTypeOf(weather).toEqualTypeOf<ToolResult<{ degrees: number }>>();
    expectTypeOf(other).toEqualTypeOf<CallToolResult>();
    expectTypeOf(named).toEqualTypeOf<CallToolResult>();
    const cities = ["Bern", "Rome"].map((name) => ({ tool: forecast, arguments: { city: name } }));
    const all = await task.all("many", cities, { concurrency: 2 });
    expectTypeOf(all).toEqualTypeOf<ToolResult<{ degrees: number }>[]>();
    // @ts-expect-error -- it takes a city
    void task.all("wrong", [{ tool: forecast, arguments: { n: 1 } }]);
    return text(String(all[0]?.structuredContent.degrees));
  });
});

/** Counts how many run at a time. */
class Gauge {
  readonly running = new Set<number>();
  most = 0;
  readonly ran: number[] = [];
  readonly tool: Handler = async ({ n }, task) => {
    this.running.add(Number(n));
    this.most = Math.max(this.most, this.running.size);
    await task.sleep("a little", 1_000 + 1_000 * (Number(n) % 3));
    this.ran.push(Number(n));
    this.running.delete(Number(n));
    if (n === 13) throw new Error("unlucky");
    return text(String(n));
  };
}

const callsTo = (count: number): { tool: string; arguments: { n: number } }[] =>
  Array.from({ length: count }, (_, n) => ({ tool: "one", arguments: { n } }));
const texts = (results: readonly CallToolResult[]): string[] =>
  results.map(({ content }) => (content[0]?.type === "text" ? content[0].text : ""));
const allOf =
  (count: number, options?: object, key: Parameters<TaskContext["all"]>[0] = "all"): Handler =>
  async (_, task) =>
    text(texts(await task.all(key, callsTo(count), options)).join(" "));

const numbers = (count: number): string => Array.from({ length: count }, (_, n) => n).join(" ");

describe("many calls", () => {
  it.each([undefined, { maxParkedFrames: 0 }])(
    "run some at a time, and end in order (%o)",
    async (options) => {
      const gauge = new Gauge();
      const tools = { one: gauge.tool, root: allOf(12, { concurrency: 4 }, ["of", 1]) };
      const process = await Process.started({ tools, options: { concurrency: 20, ...options } });
      const id = await process.callId("root");
      for (let second = 0; second < 30; second++) {
        await process.clock.advance(1_000);
        await rest();
      }
      expect(bodyOf(await process.ended(id))).toEqual(text(numbers(12)));
      expect(gauge.most).toBe(4);
      expect(await process.store.journalEntry(id, '["of",1,11]')).toMatchObject({ kind: "call" });
      expect(await process.store.unfinished("", 9)).toEqual([]);
      expect(process.errors).toEqual([]);
    },
  );

  it("run ten at a time if nothing else is said", async () => {
    const gauge = new Gauge();
    const tools = { one: gauge.tool, root: allOf(12) };
    const process = await Process.started({ tools, options: { concurrency: 20 } });
    await process.callId("root");
    await rest();
    expect(gauge.running.size).toBe(10);
  });

  it("are none where there is none", async () => {
    const process = await Process.started({ tools: { one: new Gauge().tool, root: allOf(0) } });
    expect(bodyOf(await process.ended(await process.callId("root")))).toEqual(text(""));
  });

  it("begin no more after the first failure, and those that run are cancelled with their parent", async () => {
    const gauge = new Gauge();
    const tools = { one: gauge.tool, root: allOf(100, { concurrency: 2 }) };
    const process = await Process.started({ tools, options: { concurrency: 20, cancelGraceMs: 5_000 } });
    const id = await process.callId("root");
    for (let second = 0; second < 40; second++) {
      await process.clock.advance(1_000);
      await rest();
    }
    expect(bodyOf(await process.ended(id))).toEqual({
      content: [{ type: "text", text: 'Tool "one" failed: unlucky' }],
      isError: true,
    });
    expect(Math.max(...gauge.ran)).toBeLessThanOrEqual(14);
    expect(await process.store.unfinished("", 9)).toEqual([]);
    expect(process.errors).toEqual([]);
  });

  it("go on after a crash with those that are left", async () => {
    const gauge = new Gauge();
    const tools = { one: gauge.tool, root: allOf(12, { concurrency: 3 }) };
    const setup = { tools, options: { concurrency: 20 } };
    const first = await Process.started(setup);
    const id = await first.callId("root");
    for (let second = 0; second < 4; second++) {
      await first.clock.advance(1_000);
      await rest();
    }
    const second = await first.crash(setup);
    for (let round = 0; round < 40; round++) {
      await second.clock.advance(1_000);
      await rest();
    }
    expect(bodyOf(await second.ended(id))).toEqual(text(numbers(12)));
    expect(gauge.ran.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 12 }, (_, n) => n));
  });

  it.each([[{ tool: "one" }], [[undefined]], [["one"]]])("are a list of calls, and not %j", async (calls) => {
    const root: Handler = async (_, task) =>
      text(await task.all("all", calls as never).then(() => "done", String));
    const process = await Process.started({ tools: { one: new Gauge().tool, root } });
    const said = "TypeError: task.all takes a list of calls: [{ tool, arguments }, …].";
    expect(bodyOf(await process.ended(await process.callId("root")))).toEqual(text(said));
  });

  it.each([
    [{ concurrency: 0 }, "task.all: concurrency must be a whole number from 1 to 1000, not 0."],
    [{ concurrency: 1_001 }, "task.all: concurrency must be a whole number from 1 to 1000, not 1001."],
    [{ concurrently: 2 }, 'task.all has no option "concurrently". Did you mean concurrency?'],
  ])("refuses %o", async (options, message) => {
    const process = await Process.started({ tools: { one: new Gauge().tool, root: allOf(1, options) } });
    expect(bodyOf(await process.ended(await process.callId("root")))).toMatchObject({ message });
  });
});
