import { appendFile } from "node:fs/promises";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import * as z from "zod";

const tasks = createTasks({ store: sqliteStore("tasks.db") });

tasks.tool(
  "publish_report",
  {
    description: "Renders the monthly report and sends it after approval",
    inputSchema: z.object({ month: z.string() }),
    requires: ["elicitation"],
  },
  async ({ month }, task) => {
    // Step keys are durable: do not rename one while tasks that used it still run.
    const rows = await task.step("query", () => queryWarehouse(month));
    const answer = await task.elicit("approve", {
      message: `Send ${rows.length} rows?`,
      requestedSchema: z.object({ note: z.string().optional() }),
    });
    if (answer.action !== "accept") return { content: [{ type: "text", text: "not sent" }] };
    // A service that gets the idempotency key sends once, even if the server dies right after the send.
    await task.step("send", ({ idempotencyKey }) => sendMail(rows, idempotencyKey));
    return { content: [{ type: "text", text: `sent ${rows.length} rows` }] };
  },
);

// The factory's server can have its own tools, resources and prompts, which are served along with the task tools.
const http = await serveHttp(
  tasks.server(() => new McpServer({ name: "reports", version: "1.0.0" })),
  { port: Number(process.env["PORT"] ?? 3000) },
);
console.log(http.url);
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => void http.close());

async function queryWarehouse(month: string): Promise<string[]> {
  return [`${month}-01 42`, `${month}-02 17`];
}

async function sendMail(rows: string[], idempotencyKey: string): Promise<void> {
  await appendFile("outbox.txt", `${idempotencyKey} ${rows.join(", ")}\n`);
}
