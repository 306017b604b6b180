import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import * as z from "zod";

const tasks = createTasks({ store: sqliteStore("tasks.db"), maxArtifactBytes: 5 * 1024 ** 3 });

/** The rows come one after the other, as from a database. */
async function* csv(count: number): AsyncGenerator<string> {
  yield "id,square\n";
  for (let id = 1; id <= count; id++) yield `${id},${id ** 2}\n`;
}

tasks.tool(
  "export_rows",
  { description: "Exports rows as a CSV file", inputSchema: z.object({ count: z.number() }) },
  async ({ count }, task) => {
    const file = await task.artifact("rows.csv", () => csv(count), { mimeType: "text/csv" });
    return { content: [{ type: "text", text: `${count} rows` }, file] };
  },
);

const http = await serveHttp(
  tasks.server(() => new McpServer({ name: "exports", version: "1.0.0" })),
  { port: Number(process.env["PORT"] ?? 3000), anonymous: "shared" },
);
console.log(http.url);
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => void http.close());
