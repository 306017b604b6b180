// The server that the crash suite kills: node server.ts DATABASE LOG ANONYMOUS. Prints its URL once it serves.
import { appendFileSync } from "node:fs";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import { addTools } from "./tools.ts";

const [database = "", logFile = "", anonymous] = process.argv.slice(2);

const tasks = createTasks({
  store: sqliteStore(database),
  pollIntervalMs: 50,
  crashBackoffMs: 10,
  maxCrashes: 1_000,
  // Nor does a machine that is busy with other things count as an overloaded server.
  rates: { pollsPerInterval: null, callsPerMinute: null, missesPerMinute: null, maxLoopDelayMs: null },
  // Fewer than the tasks that are open at a time, so that some wait for others.
  concurrency: 8,
});

// Synchronous, so that a line is written before what it tells of goes on.
addTools(tasks, (event, task, key, value = "") => {
  appendFileSync(logFile, `${JSON.stringify({ event, task: task.id, key, value })}\n`);
});

const http = await serveHttp(
  tasks.server(() => new McpServer({ name: "crash", version: "1.0.0" })),
  { port: 0, anonymous: anonymous === "shared" ? "shared" : "isolated" },
);
process.stdout.write(`${http.url}\n`);
