import { McpServer } from "@modelcontextprotocol/server";
import type { Tasks } from "holdfast";
import { serveHttp, type HttpOptions } from "holdfast/http";

export const text = (value: string): { content: [{ type: "text"; text: string }] } => ({
  content: [{ type: "text", text: value }],
});

/** Serves the tasks on a free port until SIGTERM. */
export async function serveTasks(tasks: Tasks, options: HttpOptions = {}): Promise<void> {
  const server = tasks.server(() => new McpServer({ name: "bench", version: "1.0.0" }));
  const http = await serveHttp(server, { port: 0, ...options });
  process.on("SIGTERM", () => void http.close());
  process.stdout.write(`${http.url}\n`);
}
