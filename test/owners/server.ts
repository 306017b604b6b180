// One of several server processes at one place: node server.ts http|http-only|stdio DATABASE FOLDER TOOL... with the tools that it knows,
// `gated@2` for version 2 of one.
// Prints its URL once it serves HTTP. It runs one handler at a time, and waits neither long for tools that nobody has nor for
// handlers when it ends. With `http-only` it runs none.
import { McpServer, type CallToolResult } from "@modelcontextprotocol/server";
import { createTasks, HoldfastError, type TaskContext } from "holdfast";
import { serveHttp } from "holdfast/http";
import { serveStdio } from "holdfast/stdio";
import * as z from "zod";
import { Gates } from "../peers/gates.ts";
import { storeAt } from "../places/store-at.ts";

const [way = "", database = "", folder = "", ...names] = process.argv.slice(2);
const { BUSY_TIMEOUT_MS, LEASE_MS } = process.env;
const gates = new Gates(folder);
const inputSchema = z.object({ word: z.string() });
const requestedSchema = { type: "object" as const, properties: { name: { type: "string" as const } } };

const expected: readonly string[] = ["store_failed", "newer_version"];

const tasks = createTasks({
  store: storeAt(database, {
    ...(BUSY_TIMEOUT_MS !== undefined && { busyTimeoutMs: Number(BUSY_TIMEOUT_MS) }),
    ...(LEASE_MS !== undefined && { leaseMs: Number(LEASE_MS) }),
  }),
  roles: way === "http-only" ? ["serve"] : ["serve", "work"],
  concurrency: 1,
  crashBackoffMs: 10,
  unregisteredGraceMs: 300,
  stopDeadlineMs: 300,
  pollIntervalMs: 50,
  onError: (error) => {
    // A test holds the file, or looks itself who runs what.
    const isExpected = error instanceof HoldfastError && expected.includes(error.code);
    if (!isExpected) console.error(error);
  },
  rates: { pollsPerInterval: null, maxLoopDelayMs: null, callsPerMinute: null }, // the machine may be busy with other things
});

async function gated({ word }: { word: string }, task: TaskContext): Promise<CallToolResult> {
  gates.log(`(runs in ${process.pid}) ${word}`);
  const first = await task.step("first", () => {
    gates.log(`first ${word}`);
    return word.toUpperCase();
  });
  task.signal.addEventListener("abort", () => gates.log(`(aborted) ${word}`));
  gates.log(`(waits) ${word}`); // the first step is on disk
  await gates.opened(word, task.signal);
  const second = await task.step("second", () => {
    gates.log(`second ${word}`);
    return word.toLowerCase();
  });
  return { content: [{ type: "text", text: `${first} ${second}` }] };
}

async function asks({ word }: { word: string }, task: TaskContext): Promise<CallToolResult> {
  gates.log(`(runs in ${process.pid}) ${word}`);
  const { content } = await task.elicit("name", { message: `Whose ${word}?`, requestedSchema });
  const text = await task.step("tell", () => {
    gates.log(`tell ${word}`);
    return `${String(content?.["name"])}'s ${word}`;
  });
  return { content: [{ type: "text", text }] };
}

/** Says with which version of the code it began, and with which it ended. */
async function quick(
  version: number,
  { word }: { word: string },
  task: TaskContext,
): Promise<CallToolResult> {
  const began = await task.step("begin", () => version);
  await task.sleep("pause", 10);
  const ended = await task.step("end", () => {
    gates.log(`end ${word}`);
    return version;
  });
  return { content: [{ type: "text", text: `${word} ${began} ${ended}` }] };
}

for (const spec of names) {
  const [name = "", version = "1"] = spec.split("@");
  if (name === "quick") {
    const code = Number(version);
    tasks.tool(name, { inputSchema, version: code, onCrash: "resume" }, (args, task) =>
      quick(code, args, task),
    );
  } else if (name === "asks") tasks.tool(name, { inputSchema, requires: ["elicitation"] }, asks);
  else tasks.tool(name, { inputSchema, plain: "wait", version: Number(version) }, gated);
}

const server = tasks.server(() => new McpServer({ name: "owner", version: "1.0.0" }));
async function serve(): Promise<{ close(): Promise<void> }> {
  if (way === "stdio") return serveStdio(server);
  process.stdin.on("close", () => process.exit(1)).resume(); // a suite that was killed leaves nothing behind
  const http = await serveHttp(server, { port: 0, anonymous: "shared" });
  process.stdout.write(`${http.url}\n`);
  return http;
}

const serving = await serve();
// A handler that waits at a gate would keep the process running.
process.once("SIGTERM", () => void serving.close().then(() => process.exit(0)));
