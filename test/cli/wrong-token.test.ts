import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { McpServer } from "@modelcontextprotocol/server";
import { expect, it, onTestFinished } from "vitest";
import * as z from "zod";
import { folder, type Run } from "./run-cli.ts";
import { runMain } from "./run-main.ts";

it("keeps a task that the server does not show under a wrong token, and finds it with the right one", async () => {
  const tasks = createTasks({ store: memoryStore() });
  const content = [{ type: "text" as const, text: "published" }];
  tasks.tool("publish_report", { inputSchema: z.object({}) }, async () => ({ content }));
  const http = await serveHttp(
    tasks.server(() => new McpServer({ name: "reports", version: "1.0.0" })),
    { port: 0, authenticate: async ({ headers }) => headers.get("authorization") ?? undefined },
  );
  onTestFinished(async () => http.close());
  const state = await folder();
  const run = async (token: string, ...args: string[]): Promise<Run> =>
    runMain([...args, "--token", token], { env: { HOLDFAST_STATE: state } });
  const { stdout } = await run("right", "call", http.url, "publish_report", "--detach");
  const id = stdout.trim();
  for (const command of ["result", "get", "cancel"]) {
    const refused = await run("wrong", command, id);
    expect(refused).toMatchObject({ code: 5, stdout: "" });
    expect(refused.stderr).toContain("The task stays on your list");
  }
  const listed = await run("wrong", "ls", "--refresh", "--json", "--server", http.url);
  expect(JSON.parse(listed.stdout)).toMatchObject({ tasks: [{ id, status: "lost" }] });
  expect(await run("right", "result", id)).toMatchObject({ code: 0, stdout: "published\n" });
});
