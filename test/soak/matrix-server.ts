// The server of the soak matrix: node --expose-gc matrix-server.ts PLACE TELEMETRY TOOLS KEEP_MS, where PLACE is "memory", or what `storeAt` takes. Answers each
// message with what it holds. Some tools come and go beside these all the time.
import { readdirSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { McpServer } from "@modelcontextprotocol/server";
import { MeterProvider, MetricReader } from "@opentelemetry/sdk-metrics";
import { TracerProvider } from "@opentelemetry/sdk-trace";
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { serveHttp } from "holdfast/http";
import { openTelemetry } from "holdfast/opentelemetry";
import * as z from "zod";
import type { CommandResult, TaskCommand } from "holdfast/store";
import { percentile } from "../../bench/statistics.ts";
import { storeAt } from "../places/store-at.ts";

export interface MatrixHeld {
  readonly heap: number;
  readonly descriptors: number;
  /** How long its last claims took (ms), at most, but for one in a hundred; NaN before the first. */
  readonly claimP99: number;
}

const [place = "memory", told = "off", lasting = "42", keepMs = "5000"] = process.argv.slice(2);

class Reader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}
const reader = new Reader();
const spans = {
  onStart: () => undefined,
  onEnd: () => undefined,
  forceFlush: () => Promise.resolve(),
  shutdown: () => Promise.resolve(),
};
const telemetry = openTelemetry({
  tracerProvider: new TracerProvider({ spanProcessors: [spans] }),
  meterProvider: new MeterProvider({ readers: [reader] }),
});

const store = place === "memory" ? memoryStore() : storeAt(place);
/** How long the last claims took (ms). */
const claims = new Float64Array(10_000);
let claimed = 0;
const write = store.write.bind(store) as (command: TaskCommand) => Promise<CommandResult>;
store.write = (async (command: TaskCommand) => {
  const since = performance.now();
  const result = await write(command);
  if (command.type === "claim") claims[claimed++ % claims.length] = performance.now() - since;
  return result;
}) as typeof store.write;
const tasks = createTasks({
  store,
  keepMs: Number(keepMs),
  expiredVisibleMs: 1,
  cancelGraceMs: 1_000,
  stopDeadlineMs: 500,
  maxCrashes: 100,
  maxRetained: null,
  maxRetainedPerPrincipal: null,
  rates: {
    callsPerMinute: null,
    listsPerMinute: null,
    missesPerMinute: null,
    pollsPerInterval: null,
    maxLoopDelayMs: null,
  },
  ...(told === "on" && { telemetry }),
});
const inputSchema = z.object({ say: z.string() });
const add = (name: string) =>
  tasks.tool(name, { inputSchema, onCrash: "resume" }, async ({ say }, task) => {
    await task.status("works");
    return task.step("say", () => say);
  });
for (let n = 0; n < Number(lasting); n++) add(`echo_${n}`);
const coming = Array.from({ length: 7 }, (_, n) => add(`passing_${n}`));
const timer = setInterval(() => {
  coming.shift()?.remove();
  coming.push(add(`passing_${crypto.randomUUID()}`));
}, 50);
// The queue that always stands: one of them runs.
tasks.tool(
  "stands",
  { concurrency: 1, onCrash: "resume" },
  (_args, task) =>
    new Promise<never>((_, reject) => {
      task.signal.addEventListener("abort", () => reject(new Error("over")), { once: true });
    }),
);

const http = await serveHttp(
  tasks.server(() => new McpServer({ name: "matrix", version: "1.0.0" })),
  {
    port: 0,
    sessionIdleMs: 10_000,
    unusedSessionMs: 10_000,
    authenticate: async ({ headers }) => headers.get("authorization")?.slice("Bearer ".length),
  },
);

function descriptors(): number {
  try {
    return readdirSync("/proc/self/fd").length;
  } catch {
    return process.getActiveResourcesInfo().length;
  }
}

async function tell(): Promise<void> {
  if (told === "on") await reader.collect();
  const claimP99 = percentile([...claims.subarray(0, claimed)], 0.99);
  globalThis.gc?.();
  await setImmediate();
  globalThis.gc?.(); // buffers count until they are swept, which the next collection waits for
  const { heapUsed, external } = process.memoryUsage();
  process.send?.({ heap: heapUsed + external, descriptors: descriptors(), claimP99 } satisfies MatrixHeld);
}

process.on("message", () => void tell());
process.on("disconnect", () => {
  clearInterval(timer);
  void http.close();
});
process.stdout.write(`${http.url}\n`);
