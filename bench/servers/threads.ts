// A server whose one tool computes on a thread.
import { createTasks, worker } from "holdfast";
import { sqliteStore } from "holdfast/sqlite";
import * as z from "zod";
import type * as computing from "./computing.ts";
import { serveTasks, text } from "./serve-tasks.ts";

const module = worker<typeof computing>(new URL("./computing.ts", import.meta.url));
const tasks = createTasks({
  store: sqliteStore("tasks.db"),
  workerThreads: 4,
  rates: { maxLoopDelayMs: null },
});
tasks.tool("compute", { inputSchema: z.object({ ms: z.number() }) }, async ({ ms }, task) => {
  await task.step("compute", { worker: module, export: "compute" }, ms);
  return text("computed");
});
await serveTasks(tasks);
