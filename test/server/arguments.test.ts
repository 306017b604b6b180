import { fromJsonSchema } from "@modelcontextprotocol/server";
import { memoryStore } from "holdfast/memory";
import { expect, it } from "vitest";
import * as z from "zod";
import * as zod3 from "zod-3/v4";
import { text, withoutTasks } from "../kit/messages.ts";
import { StatelessClient } from "../kit/stateless-client.ts";

it.each([
  ["zod", z.object({ word: z.string() })],
  ["zod/v4 of zod 3.25", zod3.object({ word: zod3.string() })],
  [
    "JSON Schema",
    fromJsonSchema<{ word: string }>({
      type: "object",
      properties: { word: { type: "string" } },
      required: ["word"],
    }),
  ],
])("takes schemas of %s [B-005]", async (_, inputSchema) => {
  const peer = await StatelessClient.of({
    tools: (tasks) => tasks.tool("shout", { inputSchema }, ({ word }) => text(word.toUpperCase())),
  });
  const { tools } = await peer.result("tools/list");
  expect(tools).toMatchObject([
    { inputSchema: { type: "object", properties: { word: { type: "string" } } } },
  ]);
  expect(await peer.ended(await peer.start("shout", { word: "a" }))).toMatchObject({ result: text("A") });
  expect((await peer.call("shout", { word: "a" }, { capabilities: withoutTasks })).result).toMatchObject(
    text("A"),
  );
  expect((await peer.call("shout", { word: 7 })).result).toMatchObject({ isError: true });
});

it("keeps the arguments as they were sent, and transforms them when the handler starts", async () => {
  const store = memoryStore();
  const inputSchema = z.object({
    day: z.string().transform((day) => new Date(day)),
    copies: z.number().default(2),
  });
  const peer = await StatelessClient.of({
    options: { store },
    tools: (tasks) =>
      tasks.tool("print", { inputSchema }, ({ day, copies }) => text(`${day.getUTCFullYear()} ${copies}`)),
  });
  const id = await peer.start("print", { day: "2026-10-01", extra: 1 });
  expect((await store.request(id))?.arguments).toBe('{"day":"2026-10-01","extra":1}');
  expect(await peer.ended(id)).toMatchObject({ result: text("2026 2") });
});

it("keeps where a call came from, for later [A-24 A-47]", async () => {
  const store = memoryStore();
  const peer = await StatelessClient.of({
    options: { store },
    tools: (tasks) => tasks.tool("bare", {}, () => text("")),
  });
  const trace = { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", tracestate: "a=b" };
  const meta = { progressToken: "p", ...trace };
  const id = await peer.start("bare", undefined, { id: "r1", meta });
  expect((await store.request(id))?.origin).toEqual({
    requestId: "r1",
    progressToken: "p",
    capabilities: { elicitation: {}, extensions: { "io.modelcontextprotocol/tasks": {} } },
    trace,
  });
});

it("keeps no trace context that is none, or longer than it may be", async () => {
  const store = memoryStore();
  const peer = await StatelessClient.of({
    options: { store },
    tools: (tasks) => tasks.tool("bare", {}, () => text("")),
  });
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const wrong = ["00-1-2-01", `00-${"0".repeat(32)}-b7ad6b7169203331-01`, `ff${traceparent.slice(2)}`, 7];
  for (const given of wrong) {
    const id = await peer.start("bare", undefined, { meta: { traceparent: given } });
    expect((await store.request(id))?.origin.trace).toBeUndefined();
  }
  const long = { traceparent, tracestate: "a".repeat(513), baggage: "a".repeat(8_193) };
  const id = await peer.start("bare", undefined, { meta: long });
  expect((await store.request(id))?.origin.trace).toEqual({ traceparent });
});

it("completes a tool with an output schema, as a task and directly", async () => {
  const outputSchema = z.object({ pages: z.number() });
  const peer = await StatelessClient.of({
    tools(tasks) {
      tasks.tool("count", { outputSchema }, () => ({ ...text("3"), structuredContent: { pages: 3 } }));
      // @ts-expect-error -- the pages are no text
      tasks.tool("miscount", { outputSchema }, () => ({ ...text("3"), structuredContent: { pages: "3" } }));
    },
  });
  expect(await peer.ended(await peer.start("count"))).toMatchObject({
    result: { structuredContent: { pages: 3 } },
  });
  const { result } = await peer.call("count", {}, { capabilities: withoutTasks });
  expect(result).toMatchObject({ structuredContent: { pages: 3 } });
  expect(result).not.toHaveProperty("isError");
  expect((await peer.call("miscount", {}, { capabilities: withoutTasks })).result).toMatchObject({
    isError: true,
  });
});

it("cannot be made to answer with what a tool put into its result [X-015]", async () => {
  const forged = { ...text("x"), resultType: "task", taskId: "another", _meta: { answer: 1 } };
  const peer = await StatelessClient.of({ tools: (tasks) => tasks.tool("forge", {}, () => forged) });
  const { result } = await peer.call("forge", {}, { capabilities: withoutTasks });
  expect(result).toMatchObject({ resultType: "complete" });
  expect(await peer.ended(await peer.start("forge"))).toMatchObject({ result: { resultType: "complete" } });
});
