import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import * as z from "zod";

const { ARCHIVE_SECRET } = process.env;
if (ARCHIVE_SECRET === undefined)
  throw new Error("Set ARCHIVE_SECRET, as for the receiver: whsec_$(openssl rand -base64 32)");

const tasks = createTasks({
  store: sqliteStore("tasks.db"),
  webhooks: [
    {
      name: "archive",
      url: process.env["ARCHIVE_URL"] ?? "http://127.0.0.1:4000/tasks",
      secret: ARCHIVE_SECRET,
      events: ["task.completed", "task.failed", "task.cancelled"],
      // The archive is on this machine. A webhook on the internet needs neither of these.
      allowHttp: true,
      allowPrivate: ["127.0.0.1"],
    },
  ],
});

tasks.tool("render", { inputSchema: z.object({ month: z.string() }) }, async ({ month }, task) => {
  const rows = await task.step("query", () => [`${month}-01 42`, `${month}-02 17`]);
  return { content: [{ type: "text", text: `${rows.length} rows` }] };
});

const http = await serveHttp(
  tasks.server(() => new McpServer({ name: "reports", version: "1.0.0" })),
  { port: Number(process.env["PORT"] ?? 3000), anonymous: "shared" },
);
console.log(http.url);
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void http.close());
