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

tasks.tool("wait", {}, async (_, task) => {
  await task.step("begin", async () => undefined);
  void task.status("waiting");
  return new Promise((_resolve, reject) => {
    task.signal.addEventListener("abort", () => reject(new Error("stopped")), { once: true });
  });
});

// Ends its process without a word, as a crash does.
tasks.tool("crash", { task: "forbidden" }, async () => process.exit(3));

const makeServer = (): McpServer => {
  const server = new McpServer({ name: "greeter", version: "1.0.0" });
  server.registerTool("pid", {}, async () => ({ content: [{ type: "text", text: String(process.pid) }] }));
  server.registerResource("office", "test://office", {}, ({ href }) => ({
    contents: [{ uri: href, text: "at the door" }],
  }));
  return server;
};
const stdio = await serveStdio(tasks.server(makeServer));
process.on("SIGTERM", () => void stdio.close());
