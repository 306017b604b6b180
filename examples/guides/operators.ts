import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { adminToken, serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import * as z from "zod";

// Operators have their own token, which cannot call tools.
const { ADMIN_TOKEN } = process.env;
if (ADMIN_TOKEN === undefined)
  throw new Error("Set ADMIN_TOKEN to a token for operators: openssl rand -hex 32");

const tasks = createTasks({ store: sqliteStore("tasks.db") });

tasks.tool(
  "publish_report",
  { description: "Publishes the report of a month", inputSchema: z.object({ month: z.string() }) },
  async ({ month }, task) => {
    const page = await task.step("render", () => `<h1>${month}</h1>`);
    await task.step("send", async () => {
      const response = await fetch(process.env["REPORTS_URL"] ?? "", { method: "POST", body: page });
      if (!response.ok) throw new Error(`The archive answered ${response.status}.`);
    });
    return { content: [{ type: "text", text: `${month} is published` }] };
  },
);

const http = await serveHttp(
  tasks.server(() => new McpServer({ name: "reports", version: "1.0.0" })),
  {
    port: Number(process.env["PORT"] ?? 3000),
    anonymous: "shared",
    admin: { path: "/admin", authenticate: adminToken(ADMIN_TOKEN, "on-call") },
  },
);
console.log(http.url);
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => void http.close());
