import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { sqliteStore } from "holdfast/sqlite";
import { serveStdio } from "holdfast/stdio";

// A server as an author writes it, on the database that it is given.
const tasks = createTasks({ store: sqliteStore(process.argv[2] ?? "tasks.db"), stopDeadlineMs: 1_000 });

tasks.tool("greet", {}, async (_, task) => {
  const answer = await task.elicit("name", {
    message: "Name?",
    requestedSchema: { type: "object", properties: { name: { type: "string" } } },
  });
  return { content: [{ type: "text", text: `hello ${String(answer.content?.["name"])}` }] };
});

const stdio = await serveStdio(tasks.server(() => new McpServer({ name: "greeter", version: "1" })));
process.on("SIGTERM", () => void stdio.close());
