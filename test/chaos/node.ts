// One of several nodes on a Postgres database: node node.ts LOG STORE, with the arguments of `postgresStore` as JSON. Prints its URL once it serves,
// and errors that no caller is told of as lines of JSON on stderr.
import { appendFileSync } from "node:fs";
import { inspect } from "node:util";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, HoldfastError } from "holdfast";
import { serveHttp } from "holdfast/http";
import { postgresStore } from "holdfast/postgres";
import type { LogLine } from "../crash/log.ts";
import { cancelGraceMs } from "../crash/told-cancels.ts";
import { addTools } from "../crash/tools.ts";
import type { StoreArguments } from "./node-process.ts";

const [logFile = "", store = ""] = process.argv.slice(2);

// A suite that was killed itself leaves nothing behind.
process.stdin.on("close", () => process.exit(1)).resume();

const tasks = createTasks({
  store: postgresStore(...(JSON.parse(store) as StoreArguments)),
  pollIntervalMs: 50,
  crashBackoffMs: 10,
  maxCrashes: 1_000,
  // A machine that is busy with other things does not count as an overloaded server.
  rates: { pollsPerInterval: null, callsPerMinute: null, missesPerMinute: null, maxLoopDelayMs: null },
  // Fewer than the tasks that are open at a time, so that some wait for others.
  concurrency: 8,
  maxParkedFrames: 1,
  cancelGraceMs,
  stopDeadlineMs: 2_000,
  onError: (error) => {
    const code = error instanceof HoldfastError ? error.code : undefined;
    process.stderr.write(`${JSON.stringify({ code, error: inspect(error) })}\n`);
  },
});

// Synchronous, so that a line is written before what it tells of goes on.
addTools(tasks, (event, { id, attempt }, key, value = "") => {
  const line: LogLine = { event, task: id, key, value, attempt, pid: process.pid, at: Date.now() };
  appendFileSync(logFile, `${JSON.stringify(line)}\n`);
});

const http = await serveHttp(
  tasks.server(() => new McpServer({ name: "chaos", version: "1.0.0" })),
  { port: 0, anonymous: "isolated" },
);
process.stdout.write(`${http.url}\n`);
