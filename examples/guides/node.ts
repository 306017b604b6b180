import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { postgresStore } from "holdfast/postgres";
import * as z from "zod";

const { DATABASE_URL, DIRECT_URL, ROLE, PORT } = process.env;
if (DATABASE_URL === undefined) throw new Error("Set DATABASE_URL to postgres://HOST/DATABASE.");

const tasks = createTasks({
  store: postgresStore(DATABASE_URL, { directUrl: DIRECT_URL ?? DATABASE_URL, maxConnections: 10 }),
  roles: ROLE === "serve" ? ["serve"] : ROLE === "work" ? ["work"] : ["serve", "work"],
  concurrency: 64,
});

tasks.tool("render", { inputSchema: z.object({ month: z.string() }) }, async ({ month }, task) => {
  const rows = await task.step("query", () => [`${month}-01 42`, `${month}-02 17`]);
  return { content: [{ type: "text", text: `${rows.length} rows, by process ${process.pid}` }] };
});

if (ROLE === "work") {
  await tasks.start();
  process.once("SIGTERM", () => void tasks.stop());
  console.log("works");
} else {
  const server = tasks.server(() => new McpServer({ name: "reports", version: "1.0.0" }));
  const http = await serveHttp(server, { port: Number(PORT ?? 3000) });
  process.once("SIGTERM", () => void http.close());
  console.log(http.url);
}
