import { McpServer as McpServerV1 } from "@modelcontextprotocol/sdk/server/mcp.js";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished } from "vitest";
import * as z from "zod";
import { serveSessions } from "../sdk-v1/http.ts";
import { folder, type Run } from "./run-cli.ts";
import { runMain } from "./run-main.ts";

const form = { type: "object" as const, properties: { name: { type: "string" as const } } };

/** Commands without a terminal, which share a state folder. */
async function script(): Promise<(...args: string[]) => Promise<Run>> {
  const state = await folder();
  return async (...args) => runMain(args, { env: { HOLDFAST_STATE: state } });
}

async function leavesIt(url: string, tool: string): Promise<void> {
  const run = await script();
  const { code, stdout, stderr } = await run("call", url, tool);
  expect({ code, stdout }).toEqual({ code: 8, stdout: "" });
  expect(stderr).toMatch(/nobody is here to answer.*\n.*Who are you\? name=string\?\n$/);
  expect(JSON.parse((await run("call", url, tool, "--json")).stdout)).toMatchObject({
    error: { kind: "unanswered" },
    exitCode: 8,
  });
  expect(await run("ls")).toEqual({ code: 0, stdout: "", stderr: "" });
}

it("leaves a question that comes before the task, without an answer to it", { timeout: 60_000 }, async () => {
  let asked = 0;
  const tasks = createTasks({ store: memoryStore() });
  tasks.tool(
    "greet",
    {
      inputSchema: z.object({}),
      prepare: async (_args, ask) => {
        asked++;
        return ask.elicit("name", { message: "Who are you?", requestedSchema: form });
      },
    },
    async () => ({ content: [] }),
  );
  const http = await serveHttp(
    tasks.server(() => new McpServer({ name: "asks", version: "1.0.0" })),
    { port: 0 },
  );
  onTestFinished(async () => http.close());
  await leavesIt(http.url, "greet");
  expect(asked).toBe(2); // once by each command
});

it("leaves a question that comes within a call", { timeout: 60_000 }, async () => {
  const answers: unknown[] = [];
  const http = await serveSessions(() => {
    const mcp = new McpServerV1({ name: "asks", version: "1.0.0" });
    mcp.registerTool("greet", {}, async () => {
      answers.push(await mcp.server.elicitInput({ message: "Who are you?", requestedSchema: form }));
      return { content: [{ type: "text", text: "hello" }] };
    });
    return mcp;
  });
  onTestFinished(async () => http.close());
  await leavesIt(http.url.href, "greet");
  expect(answers).toEqual([]);
});
