// The server that the load suite works: node --expose-gc server.ts DATABASE. Prints its URL once it serves, and answers
// each message of its parent with what it holds.
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import * as z from "zod";

export interface Held {
  readonly heap: number;
  readonly rss: number;
}

const text = (value: string): { content: [{ type: "text"; text: string }] } => ({
  content: [{ type: "text", text: value }],
});

// Everybody is nobody here, and as fast and as many as the suite makes them.
const unlimited = {
  maxUnfinished: null,
  maxRetained: null,
  maxListensPerPrincipal: 10_000,
  rates: {
    callsPerMinute: null,
    listsPerMinute: null,
    missesPerMinute: null,
    pollsPerInterval: null,
    maxLoopDelayMs: null,
  },
};
const tasks = createTasks({
  store: sqliteStore(process.argv[2] ?? "tasks.db"),
  maxBodyBytes: 8 * 1024 * 1024,
  stopDeadlineMs: 500,
  ...unlimited,
});
tasks.tool("greet", { inputSchema: z.object({ name: z.string() }), task: "forbidden" }, ({ name }) =>
  text(`hello ${name}`),
);
tasks.tool("echo", { inputSchema: z.object({ say: z.string() }) }, async ({ say }, task) =>
  text(await task.step("say", () => say)),
);
tasks.tool("big", { inputSchema: z.object({ bytes: z.number() }) }, ({ bytes }) => text("x".repeat(bytes)));
tasks.tool("chats", { inputSchema: z.object({ times: z.number() }) }, async ({ times }, task) => {
  for (let time = 0; time < times; time++) await task.status(`${time} ${"x".repeat(2_000)}`);
  return text("said");
});
tasks.tool("naps", {}, async (_args, task) => (await task.sleep("nap", 3_600_000), text("woke")));

const http = await serveHttp(
  tasks.server(() => new McpServer({ name: "load", version: "1.0.0" })),
  { port: 0, sessionIdleMs: 5_000, unusedSessionMs: 5_000, maxSessions: 400, maxConnections: 5_000 },
);

process.on("message", () => {
  globalThis.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  process.send?.({ heap: heapUsed + external, rss } satisfies Held);
});
process.on("disconnect", () => void http.close());
process.stdout.write(`${http.url}\n`);
