// One of several processes whose tool keeps to a limit: node limited-process.ts DATABASE LOG. Prints its URL. In the log, each step says
// when it began and ended. Killed again and again.
import { appendFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import * as z from "zod";
import { storeAt } from "../places/store-at.ts";

const [database = "", log = ""] = process.argv.slice(2);
const note = (what: "begun" | "ended", step: string): void =>
  appendFileSync(log, `${JSON.stringify({ what, step, pid: process.pid, at: Date.now() })}\n`);

const tasks = createTasks({
  store: storeAt(database),
  limits: { api: { concurrency: 4, perMinute: 60 } },
  maxCrashes: 1_000,
  crashBackoffMs: 0,
  maxCrashBackoffMs: 0,
  rates: { maxLoopDelayMs: null }, // the machine may be busy with other things
  onError: () => undefined, // stores of killed processes
});

tasks.tool(
  "call",
  { inputSchema: z.object({ name: z.string(), steps: z.number() }), onCrash: "resume" },
  async ({ name, steps }, task) => {
    const one = (step: string): Promise<void> =>
      task.step(step, { limit: "api" }, async () => {
        note("begun", step);
        await pause(50); // the work
        note("ended", step);
      });
    await Promise.all(Array.from({ length: steps }, (_, index) => one(`${name}-${index}`)));
    return { content: [] };
  },
);

const http = await serveHttp(
  tasks.server(() => new McpServer({ name: "limited", version: "1.0.0" })),
  { port: 0 },
);
process.stdout.write(`${http.url}\n`);
