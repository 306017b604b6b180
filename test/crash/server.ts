// The server that the crash suites kill: node server.ts DATABASE LOG ANONYMOUS BUSY_TIMEOUT_MS ROLES MAX_PARKED_FRAMES. Prints its URL once it serves,
// and errors that no caller is told of as lines of JSON on stderr. Each line of JSON on stdin is an event that it sends, and that one on stdout answers.
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { inspect } from "node:util";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, HoldfastError } from "holdfast";
import { serveHttp } from "holdfast/http";
import { storeAt } from "../places/store-at.ts";
import type { EventToSend, SentEvent } from "./event-streams.ts";
import type { LogLine } from "./log.ts";
import { cancelGraceMs } from "./told-cancels.ts";
import { addTools } from "./tools.ts";

const [database = "", logFile = "", anonymous, busyTimeoutMs, roles, maxParkedFrames] = process.argv.slice(2);

// A suite that was killed itself leaves nothing behind.
process.stdin.on("close", () => process.exit(1)).resume();

const tasks = createTasks({
  store: storeAt(database, { busyTimeoutMs: Number(busyTimeoutMs) }),
  roles: roles === "serve" ? ["serve"] : ["serve", "work"],
  pollIntervalMs: 50,
  crashBackoffMs: 10,
  maxCrashes: 1_000,
  // Nor does a machine that is busy with other things count as an overloaded server.
  rates: { pollsPerInterval: null, callsPerMinute: null, missesPerMinute: null, maxLoopDelayMs: null },
  // Fewer than the tasks that are open at a time, so that some wait for others.
  concurrency: 8,
  maxParkedFrames: Number(maxParkedFrames),
  cancelGraceMs,
  stopDeadlineMs: 2_000,
  onError: (error) => {
    const code = error instanceof HoldfastError ? error.code : undefined;
    process.stderr.write(`${JSON.stringify({ code, error: inspect(error) })}\n`);
  },
});

// Synchronous, so that a line is written before what it tells of goes on.
addTools(tasks, (event, task, key, value = "") => {
  const { id, attempt } = task;
  const line: LogLine = { event, task: id, key, value, attempt, pid: process.pid, at: Date.now() };
  appendFileSync(logFile, `${JSON.stringify(line)}\n`);
});

createInterface({ input: process.stdin }).on("line", (line) => {
  const { taskId, name, value, dedupeId } = JSON.parse(line) as EventToSend;
  const answer = (sent: SentEvent): void =>
    void process.stdout.write(`${JSON.stringify({ taskId, dedupeId, sent })}\n`);
  const refused = (error: unknown): string => (error instanceof HoldfastError ? error.code : String(error));
  tasks.sendEvent(taskId, name, value, { dedupeId }).then(
    (isNew) => answer(isNew ? "new" : "known"),
    (error: unknown) => answer(refused(error)),
  );
});

const http = await serveHttp(
  tasks.server(() => new McpServer({ name: "crash", version: "1.0.0" })),
  { port: 0, anonymous: anonymous === "shared" ? "shared" : "isolated" },
);
process.once("SIGTERM", () => void http.close().then(() => process.exit(0)));
const serves: LogLine = {
  event: "serves",
  task: "",
  key: http.url,
  value: roles ?? "",
  attempt: 0,
  pid: process.pid,
  at: Date.now(),
};
appendFileSync(logFile, `${JSON.stringify(serves)}\n`);
process.stdout.write(`${http.url}\n`);
