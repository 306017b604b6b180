// A small server on the store that HOLDFAST_STORE names, with the default options where no figure needs another. With
// RETAINED set, the store holds a million tasks, or few of which each is read all the time.
import { setTimeout as pause } from "node:timers/promises";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { storeFromUrl } from "holdfast/store";
import * as z from "zod";
import { monotonicMs } from "../monotonic-ms.ts";

const text = (value: string): { content: [{ type: "text"; text: string }] } => ({
  content: [{ type: "text", text: value }],
});

const retained = process.env["RETAINED"] !== undefined;
const tasks = createTasks({
  store: storeFromUrl(process.env["HOLDFAST_STORE"] ?? "sqlite:tasks.db"),
  // So that all handlers of `stamp` wait at the same time.
  concurrency: 1_000,
  // The load of the bench, and of whatever else the machine does, is not to be refused.
  rates: { maxLoopDelayMs: null, ...(retained && { pollsPerInterval: null }) },
  ...(retained && { maxRetained: 2_000_000 }),
});
tasks.tool("add", { inputSchema: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) =>
  text(String(a + b)),
);
const gates = new Map<string, PromiseWithResolvers<void>>();
function gateOf(name: string): PromiseWithResolvers<void> {
  const gate = gates.get(name) ?? Promise.withResolvers<void>();
  gates.set(name, gate);
  return gate;
}
const stamp = z.object({ gate: z.string(), ms: z.number() });
tasks.tool("stamp", { inputSchema: stamp }, async ({ gate, ms }) => {
  await gateOf(gate).promise;
  await pause(ms);
  return text(String(monotonicMs()));
});
tasks.tool("open", { inputSchema: z.object({ gate: z.string() }), task: "forbidden" }, ({ gate }) => {
  gateOf(gate).resolve();
  return text("open");
});

// Callers are not told apart, so the limits of a principal on calls and on tasks do not apply to them.
const http = await serveHttp(
  tasks.server(() => new McpServer({ name: "bench", version: "1.0.0" })),
  { port: 0 },
);
process.on("SIGTERM", () => void http.close());
process.stdout.write(`${http.url}\n`);
