import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { sqliteStore } from "holdfast/sqlite";
import { serveStdio } from "holdfast/stdio";
import * as z from "zod";

const tasks = createTasks({ store: sqliteStore("tasks.db") });
tasks.tool("greet", { inputSchema: z.object({ name: z.string() }) }, async ({ name }, task) => {
  const greeting = await task.step("greet", () => `Hello, ${name}`);
  return { content: [{ type: "text", text: greeting }] };
});

// stdout belongs to the protocol: log to stderr.
const stdio = await serveStdio(tasks.server(() => new McpServer({ name: "greeter", version: "1.0.0" })));
process.on("SIGTERM", () => void stdio.close());
