// A server that is restarted under load: node loaded-server.ts DATABASE FOLDER PORT
// Prints its URL once it serves. All of its tools may be repeated, by their steps or as they say of themselves; they take so long that
// some are always under way, and its stop waits for few of them.
import { setTimeout as pause } from "node:timers/promises";
import { McpServer, type CallToolResult } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import * as z from "zod";
import { Gates } from "../peers/gates.ts";
import { storeAt } from "../places/store-at.ts";

const [database = "", folder = "", port = "0"] = process.argv.slice(2);
const gates = new Gates(folder);
const inputSchema = z.object({ word: z.string(), ms: z.number() });
const done = (word: string): CallToolResult => ({ content: [{ type: "text", text: word.toUpperCase() }] });

const tasks = createTasks({
  store: storeAt(database),
  concurrency: 32,
  stopDeadlineMs: 100,
  pollIntervalMs: 50,
  onError: (error) => gates.log(`${String((error as Error).stack).replaceAll("\n", " ")} (error)`),
  rates: { pollsPerInterval: null, maxLoopDelayMs: null, callsPerMinute: null }, // the machine may be busy with other things
});

tasks.tool("steps", { inputSchema }, async ({ word, ms }, task) => {
  await task.step("first", () => gates.log(`${task.id} ${word}`));
  await task.sleep("nap", ms);
  await task.step("last", () => pause(ms));
  return done(word);
});

tasks.tool(
  "promoted",
  { inputSchema, promoteAfterMs: 50, annotations: { idempotentHint: true } },
  async ({ word, ms }) => {
    await pause(ms);
    return done(word);
  },
);

tasks.tool(
  "direct",
  { inputSchema, task: "forbidden", annotations: { readOnlyHint: true } },
  async ({ word, ms }) => {
    await pause(ms);
    return done(word);
  },
);

process.stdin.on("close", () => process.exit(1)).resume(); // a suite that was killed leaves nothing behind
const server = tasks.server(() => new McpServer({ name: "loaded", version: "1.0.0" }));
const http = await serveHttp(server, { port: Number(port), anonymous: "shared" });
process.stdout.write(`${http.url}\n`);
// The handlers that were given up would keep the process running.
process.once("SIGTERM", () => void http.close().then(() => process.exit(0)));
