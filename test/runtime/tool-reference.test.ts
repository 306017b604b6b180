import type { CallToolResult } from "@modelcontextprotocol/server";
import { expect, expectTypeOf, it } from "vitest";
import * as z from "zod";
import { createTasks, type ToolReference, type ToolResult } from "../../src/index.ts";
import { memoryStore } from "../../src/memory.ts";
import { text } from "./harness.ts";

const inputSchema = z.object({ city: z.string(), days: z.number().default(7), at: z.iso.date().optional() });
const outputSchema = z.object({ degrees: z.number(), wind: z.string().optional() });

it("returns the tool as others call it, with what callers pass and what comes back", () => {
  const tasks = createTasks({ store: memoryStore() });
  const forecast = tasks.tool("forecast", { inputSchema, outputSchema }, ({ city, days }) => {
    expectTypeOf(days).toEqualTypeOf<number>();
    return { content: [{ type: "text", text: city }], structuredContent: { degrees: days } };
  });
  expect(forecast).toMatchObject({ name: "forecast", enabled: true });
  expectTypeOf(forecast).toExtend<
    ToolReference<
      { city: string; days?: number | undefined; at?: string | undefined },
      { degrees: number; wind?: string | undefined }
    >
  >();
});

it("knows nothing of what a tool without schemas takes and returns", () => {
  const tasks = createTasks({ store: memoryStore() });
  const plain = tasks.tool("plain", { prepare: () => 1 }, (args, task) => {
    expectTypeOf(args).toEqualTypeOf<Record<string, unknown>>();
    expectTypeOf(task.prepared).toEqualTypeOf<number>();
    return text("done");
  });
  expectTypeOf(plain).toExtend<ToolReference<Record<string, unknown>, unknown>>();
  expectTypeOf<ToolResult<unknown>>().toEqualTypeOf<CallToolResult>();
});

it("lets a list hold references of different tools, and no reference stand for one that takes less", () => {
  const tasks = createTasks({ store: memoryStore() });
  const one = tasks.tool("one", { inputSchema: z.object({ a: z.string() }) }, ({ a }) => text(a));
  const two = tasks.tool("two", { inputSchema: z.object({ b: z.number() }) }, ({ b }) => text(String(b)));
  const all: readonly ToolReference[] = [one, two];
  expect(all.map(({ name }) => name)).toEqual(["one", "two"]);
  // @ts-expect-error -- it takes `a`, and not whatever there is
  const wrong: ToolReference<Record<string, unknown>> = one;
  void wrong;
});

it("gives the structured content of a result its type", () => {
  const result = { content: [], structuredContent: { degrees: 3 } } as ToolResult<{ degrees: number }>;
  expectTypeOf(result.structuredContent).toEqualTypeOf<{ degrees: number }>();
  expectTypeOf(result.content).toEqualTypeOf<CallToolResult["content"]>();
});

it("checks the arguments of a call, and infers its result", () => {
  const tasks = createTasks({ store: memoryStore() });
  const forecast = tasks.tool("forecast", { inputSchema, outputSchema }, () => text("never run"));
  const plain = tasks.tool("plain", {}, () => text("never run"));
  tasks.tool("root", {}, async (_, task) => {
    const { structuredContent, content } = await task.call("one", forecast, { city: "Bern" });
    expectTypeOf(structuredContent).toEqualTypeOf<{ degrees: number; wind?: string | undefined }>();
    expectTypeOf(content).toEqualTypeOf<CallToolResult["content"]>();
    expectTypeOf(task.call("two", plain, { any: 1 })).resolves.toEqualTypeOf<CallToolResult>();
    expectTypeOf(task.call("three", "forecast", { any: 1 })).resolves.toEqualTypeOf<CallToolResult>();
    expectTypeOf(task.call("four", "forecast")).resolves.toEqualTypeOf<CallToolResult>();
    // @ts-expect-error -- it takes a city
    void task.call("five", forecast, { days: 3 });
    // @ts-expect-error -- days are a number
    void task.call("six", forecast, { city: "Bern", days: "3" });
    return { content };
  });
});
