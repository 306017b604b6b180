// What a project does with the package: a server whose task outlives it, and a client. Run and type-checked in an empty project.
import assert from "node:assert/strict";
import { join } from "node:path";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { connect } from "holdfast/client";
import { serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";

const file = join(import.meta.dirname, "tasks.db");

async function serve(port: number, steps: string[]): ReturnType<typeof serveHttp> {
  const tasks = createTasks({ store: sqliteStore(file), pollIntervalMs: 50 });
  tasks.tool("add", { inputSchema: undefined, onCrash: "resume" }, async (_args, task) => {
    const sum = await task.step("sum", () => {
      steps.push("sum");
      return 19 + 23;
    });
    await task.sleep("rest", 1_000);
    return { content: [{ type: "text", text: String(sum) }] };
  });
  return serveHttp(
    tasks.server(() => new McpServer({ name: "release", version: "1.0.0" })),
    { port },
  );
}

const steps: string[] = [];
const first = await serve(0, steps);
const client = await connect(first.url);
const handle = await client.startTool("add");
await first.close();
const second = await serve(Number(new URL(first.url).port), steps);
const { content } = await handle.result();
assert.deepEqual(content, [{ type: "text", text: "42" }]);
assert.deepEqual(steps, ["sum"]);
await client.close();
await second.close();
console.log("42");
