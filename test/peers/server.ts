// The server that is killed under its clients: node server.ts PORT DATABASE FOLDER. Prints a line once it is loaded, begins
// when it gets one, and prints its URL once it serves.
import { once } from "node:events";
import { setImmediate as loopTurn } from "node:timers/promises";
import { McpServer, type CallToolResult } from "@modelcontextprotocol/server";
import { createTasks, type TaskContext } from "holdfast";
import { serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import * as z from "zod";
import { Gates } from "./gates.ts";

process.stdout.write("loaded\n");
await once(process.stdin, "data");
process.stdin.destroy(); // or it would keep the process

const [port = "", database = "", folder = ""] = process.argv.slice(2);
const gates = new Gates(folder);

const inputSchema = z.object({ word: z.string() });
const text = (value: string): CallToolResult => ({ content: [{ type: "text", text: value }] });

const tasks = createTasks({
  store: sqliteStore(database),
  crashBackoffMs: 10,
  maxCrashes: 100,
  rates: { maxLoopDelayMs: null }, // the machine may be busy with other things
});

tasks.tool("quick", { inputSchema }, async ({ word }, task) =>
  text(
    await task.step("shout", () => {
      gates.log(`shout ${word}`);
      return word.toUpperCase();
    }),
  ),
);

async function gated({ word }: { word: string }, task: TaskContext): Promise<CallToolResult> {
  const first = await task.step("first", () => {
    gates.log(`first ${word}`);
    return word.toUpperCase();
  });
  gates.log(`(waits) ${word}`); // the first step is on disk
  await gates.opened(word, task.signal);
  const second = await task.step("second", () => {
    gates.log(`second ${word}`);
    return word.toLowerCase();
  });
  return text(`${first} ${second}`);
}

tasks.tool("gated", { inputSchema, plain: "wait" }, gated);
tasks.tool("ticketed", { inputSchema, plain: "ticket", plainDeadlineMs: 100 }, gated);

/** The author's own tools, of which nothing is stored, and what a client may set in its session. */
function makeServer(): McpServer {
  const server = new McpServer(
    { name: "peers", version: "1.0.0" },
    { capabilities: { logging: {}, resources: { subscribe: true } } },
  );
  const subscribed = new Set<string>();
  server.server.setRequestHandler("resources/subscribe", ({ params }) => (subscribed.add(params.uri), {}));
  server.registerTool("echo", { inputSchema }, async ({ word }, { mcpReq }) => {
    await mcpReq.log("info", word);
    await mcpReq.log("error", word);
    for (const uri of subscribed) await server.server.sendResourceUpdated({ uri });
    return text(word);
  });
  server.registerTool("hangs", {}, async () => {
    await loopTurn(); // the response has begun
    gates.log("(waits) hangs");
    return new Promise(() => undefined);
  });
  return server;
}

const http = await serveHttp(tasks.server(makeServer), { port: Number(port), anonymous: "shared" });
process.once("SIGTERM", () => void http.close());
process.stdout.write(`${http.url}\n`);
