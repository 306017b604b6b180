import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import * as z from "zod";

// Put your own code here.
const query = async (month: string) => [`${month}-01 42`, `${month}-02 17`];
const upload = async (rows: string[], key: string) => `https://example.com/${key}?rows=${rows.length}`;

const tasks = createTasks({ store: sqliteStore("tasks.db") });
const config = { description: "Makes a report", inputSchema: z.object({ month: z.string() }) };
tasks.tool("report", config, async ({ month }, task) => {
  const rows = await task.step("query", () => query(month));
  const url = await task.step("upload", ({ idempotencyKey }) => upload(rows, idempotencyKey));
  return { content: [{ type: "text", text: url }] };
});

const makeServer = tasks.server(() => new McpServer({ name: "reports", version: "1.0.0" }));
const http = await serveHttp(makeServer, { port: Number(process.env["PORT"] ?? 3000) });
console.log(http.url);
