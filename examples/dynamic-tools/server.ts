import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type DurableTool } from "holdfast";
import { serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";

// One tool for each file in `queries/`. Clients see at once when a file is added or removed.
const folder = process.env["QUERIES"] ?? "queries";
const tasks = createTasks({ store: sqliteStore("tasks.db") });
const tools = new Map<string, DurableTool>();

async function lookAtFolder(): Promise<void> {
  const files = await readdir(folder);
  const names = new Set(files.filter((file) => file.endsWith(".sql")).map((file) => file.slice(0, -4)));
  for (const [name, tool] of tools) {
    if (names.has(name)) continue;
    tool.remove(); // a running query continues to its end
    tools.delete(name);
  }
  for (const name of names) {
    if (!tools.has(name)) tools.set(name, addQuery(name));
  }
}

function addQuery(name: string): DurableTool {
  return tasks.tool(name, { description: `Runs ${name}.sql`, plain: "wait" }, async (_, task) => {
    const rows = await task.step("query", () => runQuery(join(folder, `${name}.sql`)));
    return { content: [{ type: "text", text: rows }] };
  });
}

async function runQuery(file: string): Promise<string> {
  return `the rows of ${file}`;
}

await mkdir(folder, { recursive: true });
await lookAtFolder();
const http = await serveHttp(
  tasks.server(() => new McpServer({ name: "queries", version: "1.0.0" })),
  { port: Number(process.env["PORT"] ?? 3000) },
);
console.log(http.url);
process.on("SIGHUP", () => void lookAtFolder());
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => void http.close());
