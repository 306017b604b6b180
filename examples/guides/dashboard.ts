import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { adminToken, serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import * as z from "zod";

const tasks = createTasks({ store: sqliteStore("tasks.db") });

tasks.tool("render", { inputSchema: z.object({ month: z.string() }) }, async ({ month }, task) => {
  const rows = await task.step("query", () => [`${month}-01 42`, `${month}-02 17`]);
  return { content: [{ type: "text", text: `${rows.length} rows` }] };
});

// One for acting, and one for reading.
const { ADMIN_TOKEN, VISITOR_TOKEN } = process.env;
if (ADMIN_TOKEN === undefined || VISITOR_TOKEN === undefined)
  throw new Error("Set ADMIN_TOKEN and VISITOR_TOKEN to two tokens: openssl rand -hex 32");
const onCall = adminToken(ADMIN_TOKEN, "on-call");
const visitor = adminToken(VISITOR_TOKEN, { actor: "visitor", role: "read" });

const http = await serveHttp(
  tasks.server(() => new McpServer({ name: "reports", version: "1.0.0" })),
  {
    port: Number(process.env["PORT"] ?? 3000),
    anonymous: "shared",
    dashboard: { authenticate: async (request) => (await onCall(request)) ?? visitor(request) },
  },
);
console.log(http.url);
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => void http.close());
