import { appendFile } from "node:fs/promises";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, TaskCallError } from "holdfast";
import { serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import * as z from "zod";

const tasks = createTasks({ store: sqliteStore("tasks.db") });

const testPackage = tasks.tool(
  "test_package",
  {
    description: "Runs the tests of a package",
    inputSchema: z.object({ name: z.string() }),
    outputSchema: z.object({ passed: z.number() }),
    concurrency: 8, // whoever calls it
  },
  async ({ name }, task) => {
    const passed = await task.step("test", () => runTests(name));
    return { content: [], structuredContent: { passed } };
  },
);

const approve = tasks.tool(
  "approve",
  {
    description: "Asks for approval",
    inputSchema: z.object({ what: z.string() }),
    requires: ["elicitation"],
  },
  async ({ what }, task) => {
    const { action } = await task.elicit("approve", {
      message: `${what}?`,
      requestedSchema: { type: "object", properties: {} },
    });
    if (action !== "accept") throw new Error("nobody approved it");
    return { content: [{ type: "text", text: "approved" }] };
  },
);

tasks.tool(
  "release",
  {
    description: "Tests all packages, asks for approval and publishes them",
    inputSchema: z.object({ version: z.string(), packages: z.array(z.string()) }),
    requires: ["elicitation"],
  },
  async ({ version, packages }, task) => {
    const calls = packages.map((name) => ({ tool: testPackage, arguments: { name } }));
    // Twenty at a time; the keys are ["tests", 0], ["tests", 1] and so on.
    const results = await task.all("tests", calls, { concurrency: 20 });
    const passed = results.reduce((sum, { structuredContent }) => sum + structuredContent.passed, 0);
    try {
      // The user is asked as if this task asked.
      await task.call("approve", approve, { what: `Release ${version} after ${passed} tests` });
    } catch (error) {
      if (!(error instanceof TaskCallError)) throw error;
      return { content: [{ type: "text", text: `not released: ${error.message}` }] };
    }
    await task.step("publish", ({ idempotencyKey }) => publish(version, idempotencyKey));
    return { content: [{ type: "text", text: `released ${version} after ${passed} tests` }] };
  },
);

const http = await serveHttp(
  tasks.server(() => new McpServer({ name: "releases", version: "1.0.0" })),
  { port: Number(process.env["PORT"] ?? 3000) },
);
console.log(http.url);
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => void http.close());

async function runTests(name: string): Promise<number> {
  await appendFile("tested.txt", `${name}\n`);
  if (name.startsWith("broken")) throw new Error(`2 tests of ${name} fail`);
  return name.length;
}

async function publish(version: string, idempotencyKey: string): Promise<void> {
  await appendFile("published.txt", `${version} ${idempotencyKey}\n`);
}
