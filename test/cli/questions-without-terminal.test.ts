import { join } from "node:path";
import { McpServer as McpServerV1 } from "@modelcontextprotocol/sdk/server/mcp.js";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished } from "vitest";
import * as z from "zod";
import { serveSessions } from "../sdk-v1/http.ts";
import { folder, root, startHoldfast, type Run } from "./run-cli.ts";
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
  expect(stderr).toMatch(/there is no terminal to answer on.*\n.*Who are you\? name=string\?\n$/);
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

it("leaves a task that asks whose server nobody else can reach", { timeout: 60_000 }, async () => {
  const state = await folder();
  const env = { HOLDFAST_STATE: state, HOLDFAST_STORE: `sqlite:${join(state, "tasks.db")}` };
  const run = async (...args: string[]): Promise<Run> => runMain(args, { env });
  const server = `${process.execPath} ${root}test/everything/main.ts --stdio`;
  const passes = ["--pass-env", "HOLDFAST_STORE"];
  const asked = await run("call", server, "confirm_delete", "filename=a.txt", ...passes);
  // The commands below start the server with the same variable.
  expect(asked).toMatchObject({ code: 8, stdout: "" });
  const [, id = ""] = /holdfast answer (\S+)\n {2}confirm: Delete a\.txt\?/.exec(asked.stderr) ?? [];
  expect(asked.stderr).not.toContain("goes on");
  expect(await run("answer", id, "confirm=true")).toMatchObject({ code: 0 });
  expect(await run("result", id)).toMatchObject({ code: 0, stdout: "Would delete a.txt.\n" });
});

it(
  "does not say of a server that ends with the command that its task goes on",
  { timeout: 60_000 },
  async () => {
    const env = { HOLDFAST_STATE: await folder(), HOLDFAST_STORE: "memory:" };
    const server = `${process.execPath} ${root}test/everything/main.ts --stdio`;
    const running = startHoldfast(["call", server, "never_ends", "--pass-env", "HOLDFAST_STORE"], { env });
    await running.told(/^task \S+$/m);
    running.kill("SIGTERM");
    const left = await running.ended;
    expect(left).toMatchObject({ code: 143, stdout: "" });
    expect(left.stderr).toMatch(/Its server stops with this command.*\n {2}holdfast watch \S+\n$/);
    expect(left.stderr).not.toContain("goes on");
  },
);
