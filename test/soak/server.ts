// The server of the soak: node --expose-gc server.ts DATABASE. Whoever calls is who the bearer token says. What is left behind has to
// go within seconds, so that a run of minutes shows what a server does in weeks. Answers each message with what it holds.
import { readdirSync, statSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import * as z from "zod";

export interface Held {
  readonly heap: number;
  /** Sessions, and requests of 2026-07-28 that are being served. */
  readonly sessions: number;
  /** Of the process, sockets and files among them; where the system does not tell, what keeps the event loop alive. */
  readonly descriptors: number;
  /** Of the database, in bytes. */
  readonly log: number;
}

const [database = "tasks.db"] = process.argv.slice(2);
const text = (value: string): { content: [{ type: "text"; text: string }] } => ({
  content: [{ type: "text", text: value }],
});
const none = { callsPerMinute: null, listsPerMinute: null, missesPerMinute: null, pollsPerInterval: null };

const tasks = createTasks({
  store: sqliteStore(database),
  ttlMs: 10_000,
  expiredVisibleMs: 1,
  cancelGraceMs: 1_000,
  maxBodyBytes: 64 * 1024,
  maxNodes: 5_000,
  stopDeadlineMs: 500,
  rates: { ...none, maxLoopDelayMs: null },
});
tasks.tool("echo", { inputSchema: z.object({ say: z.string() }) }, async ({ say }, task) => {
  await task.status("works");
  return text(await task.step("say", () => say));
});
tasks.tool("naps", {}, async (_args, task) => {
  await task.sleep("nap", 5_000);
  return new Promise<never>((_, reject) => {
    task.signal.addEventListener("abort", () => reject(new Error("awake")), { once: true });
  });
});
tasks.tool("chats", {}, async (_args, task) => {
  for (let time = 0; time < 50; time++) await task.status(`${time} ${"x".repeat(2_000)}`);
  return text("said");
});

/** More than the system takes for a client that does not read. */
const large = "x".repeat(6 * 1024 * 1024);

let sessions = 0;
const factory = (): McpServer => {
  const mcp = new McpServer({ name: "soak", version: "1.0.0" });
  mcp.registerTool("large", {}, () => text(large));
  const connect = mcp.connect.bind(mcp);
  mcp.connect = async (transport) => {
    await connect(transport);
    sessions += 1;
    const { onclose } = transport;
    transport.onclose = () => {
      transport.onclose = onclose;
      sessions -= 1;
      onclose?.();
    };
  };
  return mcp;
};

const http = await serveHttp(tasks.server(factory), {
  port: 0,
  authenticate: async ({ headers }) => headers.get("authorization")?.slice("Bearer ".length),
  sessionIdleMs: 6_000,
  unusedSessionMs: 4_000,
  resumeMs: 1_000,
  maxSessions: 150,
  maxSessionsPerPrincipal: 60,
  maxOpenRequestsPerSession: 20,
  maxOpenRequestsPerPrincipal: 60,
  headersTimeoutMs: 3_000,
  requestTimeoutMs: 3_000,
  keepAliveTimeoutMs: 3_000,
  stallTimeoutMs: 3_000,
  maxOutgoingBytes: 4 * 1024 * 1024,
});

function descriptors(): number {
  try {
    return readdirSync("/proc/self/fd").length;
  } catch {
    return process.getActiveResourcesInfo().length;
  }
}

async function tell(): Promise<void> {
  globalThis.gc?.();
  await setImmediate();
  globalThis.gc?.(); // buffers count until they are swept, which the next collection waits for
  const { heapUsed, external } = process.memoryUsage();
  const log = statSync(`${database}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  process.send?.({ heap: heapUsed + external, sessions, descriptors: descriptors(), log } satisfies Held);
}

process.on("message", () => void tell());
process.on("disconnect", () => void http.close());
process.stdout.write(`${http.url}\n`);
