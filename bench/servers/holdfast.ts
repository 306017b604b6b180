// A small server on the store that HOLDFAST_STORE names, with default options except where a figure needs others. With
// MANY_TASKS set, the store may hold a million tasks, or a few that are read all the time. With PRINCIPALS set, callers
// identify themselves. CONCURRENCY is that of handlers.
import { setTimeout as pause } from "node:timers/promises";
import { createTasks } from "holdfast";
import { storeFromUrl } from "holdfast/store";
import * as z from "zod";
import { monotonicMs } from "../monotonic-ms.ts";
import { serveTasks, text } from "./serve-tasks.ts";
import { exportedTelemetry } from "./telemetry.ts";

const manyTasks = process.env["MANY_TASKS"] !== undefined;
const telemetry = exportedTelemetry();
const tasks = createTasks({
  ...(telemetry && { telemetry }),
  store: storeFromUrl(process.env["HOLDFAST_STORE"] ?? "sqlite:tasks.db"),
  // So that all handlers of `stamp` wait at the same time.
  concurrency: Number(process.env["CONCURRENCY"] ?? 1_000),
  // The load of the bench, and of anything else on the machine, must not be refused.
  rates: { maxLoopDelayMs: null, ...(manyTasks && { pollsPerInterval: null, callsPerMinute: null }) },
  ...(manyTasks && { maxRetained: 2_000_000, maxUnfinished: null, maxUnfinishedPerPrincipal: null }),
});
const summands = z.object({ a: z.number(), b: z.number() });
tasks.tool("add", { inputSchema: summands }, ({ a, b }) => text(String(a + b)));
tasks.tool("add_and_log", { inputSchema: summands }, async ({ a, b }, task) => {
  for (let line = 1; line < 10; line++) void task.log("info", `Line ${line} of ${a} and ${b}`, { line });
  await task.log("notice", `The sum is ${a + b}`);
  return text(String(a + b));
});
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
tasks.tool("ask", { requires: ["elicitation"] }, async (_args, task) => {
  const name = { type: "string", title: "Name" } as const;
  const { action } = await task.elicit("name", {
    message: "What is the report to be called?",
    requestedSchema: { type: "object", properties: { name }, required: ["name"] },
  });
  return text(action);
});
const run = z.object({ ms: z.number(), hangs: z.boolean().default(false) });
// Reports its start. A handler that hangs ends only in its second attempt.
tasks.tool("run", { inputSchema: run, onCrash: "resume" }, async ({ ms, hangs }, { attempt }) => {
  const began = monotonicMs();
  if (hangs && attempt === 1) await new Promise(() => undefined);
  await pause(ms);
  return text(String(began));
});

// If callers are not told apart, a principal's limits on calls and tasks do not apply to them.
await serveTasks(
  tasks,
  process.env["PRINCIPALS"] === undefined
    ? {}
    : { authenticate: async ({ headers }) => headers.get("authorization") ?? undefined },
);
