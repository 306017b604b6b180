import { join } from "node:path";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { connect, type ConnectOptions } from "holdfast/client";
import { serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished } from "vitest";
import { folder } from "./run-cli.ts";
import { runMain } from "./run-main.ts";

const earlier: readonly ConnectOptions[] = [{ generation: "sep-1686" }, { protocolVersion: "2025-11-25" }];

it.each(earlier)("finds a task of an earlier generation, of %j", { timeout: 60_000 }, async (options) => {
  const tasks = createTasks({ store: memoryStore() });
  tasks.tool("hello", {}, async () => ({ content: [{ type: "text", text: "hello" }] }));
  const http = await serveHttp(
    tasks.server(() => new McpServer({ name: "all", version: "1.0.0" })),
    { port: 0, anonymous: "shared" },
  );
  onTestFinished(async () => http.close());
  const state = await folder();
  const client = await connect(http.url, { ...options, handles: join(state, "state.db") });
  const { taskId } = await client.startTool("hello");
  await client.close();
  const env = { HOLDFAST_STATE: state };
  expect(await runMain(["result", taskId ?? ""], { env })).toMatchObject({ code: 0, stdout: "hello\n" });
});
