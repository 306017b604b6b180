import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { mcpUpstream, serveTools } from "holdfast/serve";
import { sqliteStore } from "holdfast/sqlite";

// Makes every tool of another server durable, beside tools of its own.
const upstream = process.env["UPSTREAM"] ?? "npx -y @modelcontextprotocol/server-everything";
const [program = "", ...args] = upstream.split(" ");
const tasks = createTasks({ store: sqliteStore(process.env["DATABASE"] ?? "gateway.db") });
tasks.tool("ping", { description: "Answers at once" }, async () => "pong");

const served = await serveTools(tasks, [mcpUpstream("other", { command: program, args, prefix: "other_" })]);
const http = await serveHttp(
  tasks.server(async (context) => {
    const server = new McpServer({ name: "gateway", version: "1.0.0" });
    await served.attach(server, context); // resources, prompts, completions and log messages
    return server;
  }),
  { port: Number(process.env["PORT"] ?? 3000), anonymous: "shared" },
);
served.tell(http.notify); // when their lists change
console.log(http.url);

async function stop(): Promise<void> {
  await http.close();
  await served.close();
}
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => void stop());
