import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { serveStdio } from "holdfast/stdio";
import * as z from "zod";

// A server that says much on stderr, before the first message and while a task runs.
console.error("ERROR: größte Sorge vor dem Anfang");
const tasks = createTasks({ store: memoryStore(), stopDeadlineMs: 100 });
tasks.tool("repeat", { inputSchema: z.object({ words: z.string() }) }, async ({ words }, task) => {
  console.error(`repeat: ${JSON.stringify(words)} ✓`);
  await task.step("log", async () => console.error("a step\nin two lines"));
  return { content: [{ type: "text", text: words }] };
});
await serveStdio(tasks.server(() => new McpServer({ name: "noisy", version: "1.0.0" })));
