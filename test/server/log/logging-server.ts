import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type TaskContext } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { serveStdio } from "holdfast/stdio";

// A server whose tools log, with a task and without.
const tasks = createTasks({ store: memoryStore(), stopDeadlineMs: 1_000 });

async function work(_: unknown, task: TaskContext) {
  await task.log("debug", "a detail");
  await task.log("info", "begins");
  await task.log("error", "fails", [1]);
  for (let n = 1; n <= 20; n++) task.progress(n, 20);
  return { content: [{ type: "text" as const, text: "done" }] };
}

tasks.tool("direct", { task: "forbidden" }, work);
tasks.tool("durable", {}, work);

const makeServer = (): McpServer =>
  new McpServer({ name: "logger", version: "1" }, { capabilities: { logging: {} } });
const stdio = await serveStdio(tasks.server(makeServer));
process.on("SIGTERM", () => void stdio.close());
