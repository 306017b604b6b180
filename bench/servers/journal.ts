// A server with a tool whose task has a long journal, to measure its replay: the first attempt writes the journal and hangs,
// the next one replays it and waits for an answer.
import { monitorEventLoopDelay, performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createTasks } from "holdfast";
import { storeFromUrl } from "holdfast/store";
import * as z from "zod";
import { serveTasks, text } from "./serve-tasks.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

const tasks = createTasks({
  store: storeFromUrl(process.env["HOLDFAST_STORE"] ?? "sqlite:tasks.db"),
  stopDeadlineMs: 100,
});
const delay = monitorEventLoopDelay({ resolution: 1 });
const begin = performance.now();
let replayedMs = 0;
/** About a hundred bytes of JSON each. */
const rowsOf = (page: number, count: number): { id: string; about: string; size: number }[] =>
  Array.from({ length: count }, (_, n) => ({ id: `${page}/${n}`, about: "x".repeat(61), size: n }));
const read = z.object({ steps: z.number(), bytes: z.number() });
tasks.tool("read", { inputSchema: read, requires: ["elicitation"] }, async ({ steps, bytes }, task) => {
  let sum = 0;
  for (let n = 0; n < steps; n++) {
    const rows = await task.step(["page", n], () => rowsOf(n, bytes / 100));
    sum += rows.length;
  }
  if (task.attempt === 1) {
    await task.status("written");
    await new Promise(() => undefined);
  }
  replayedMs = performance.now() - begin;
  const { action } = await task.elicit("more", {
    message: `${sum} rows were read. Go on?`,
    requestedSchema: { type: "object", properties: {} },
  });
  return text(action);
});
tasks.tool("cost", { task: "forbidden" }, async () => {
  await pause(10); // a block that lasts until now counts too
  delay.disable();
  collect();
  const { heapUsed, external, rss } = process.memoryUsage();
  return text(JSON.stringify([delay.max / 1e6, replayedMs, heapUsed + external, rss]));
});

delay.enable();
await serveTasks(tasks);
