// Two MCP servers with slow tools, for the agent beside this file: they listen until they are stopped, and print their addresses.
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type Tasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import * as z from "zod";

/** How long a step of the tools takes, in milliseconds. */
const stepMs = Number(process.env["STEP_MS"] ?? 1_000);

const build = createTasks({ store: memoryStore(), pollIntervalMs: 200 });
build.tool(
  "compile",
  { description: "Compiles the program for a target", inputSchema: z.object({ target: z.string() }) },
  async ({ target }, task) => {
    for (const part of ["sources", "assets", "bundle"]) {
      await task.status(`Compiling ${part}`);
      await task.sleep(part, stepMs);
    }
    return `Compiled for ${target}.`;
  },
);
build.tool("test", { description: "Runs all tests of the program" }, async (_args, task) => {
  for (let suite = 1; suite <= 3; suite++) {
    task.progress(suite, 3, `Suite ${suite}`);
    await task.sleep(`suite ${suite}`, stepMs);
  }
  return "All 412 tests passed.";
});

const shop = createTasks({ store: memoryStore(), pollIntervalMs: 200 });
shop.tool(
  "release",
  {
    description: "Releases a version to customers, after their agreement",
    inputSchema: z.object({ version: z.string() }),
  },
  async ({ version }, task) => {
    await task.sleep("prepare", 2 * stepMs);
    const { action, content } = await task.elicit("agree", {
      message: `Release version ${version} to all customers?`,
      requestedSchema: z.object({ release: z.boolean() }),
    });
    const isAgreed = action === "accept" && content.release;
    return isAgreed ? `Version ${version} is released.` : `Version ${version} was not released.`;
  },
);

async function serve(name: string, tasks: Tasks): Promise<string> {
  const server = tasks.server(() => new McpServer({ name, version: "1.0.0" }));
  return (await serveHttp(server, { port: 0, anonymous: "shared" })).url;
}

console.log(JSON.stringify({ build: await serve("build", build), shop: await serve("shop", shop) }));
