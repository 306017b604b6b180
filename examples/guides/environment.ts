import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { configFromEnv } from "holdfast/env";
import { serveHttp } from "holdfast/http";
import * as z from "zod";

const config = configFromEnv(process.env);

// Your defaults, unless the environment sets them.
const tasks = createTasks({ concurrency: 16, ...config.tasks });

tasks.tool("render", { inputSchema: z.object({ month: z.string() }) }, async ({ month }, task) => {
  const rows = await task.step("query", () => [`${month}-01 42`, `${month}-02 17`]);
  return { content: [{ type: "text", text: `${rows.length} rows` }] };
});

const http = await serveHttp(
  tasks.server(() => new McpServer({ name: "reports", version: "1.0.0" })),
  // Options that the environment cannot change come last.
  { ...config.http, anonymous: "shared" },
);
console.log(http.url);
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void http.close());
