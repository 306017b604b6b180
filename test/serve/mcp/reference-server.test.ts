import type { InputRequest, InputResult } from "holdfast/client";
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { mcpUpstream } from "../../../src/serve/mcp/mcp-upstream.ts";
import { compileCache } from "../../compile-cache.ts";
import { clientOf, everythingUpstream, gateway, plainClientOf } from "./gateway.ts";

const deadline = 60_000;

async function answer({ method }: InputRequest): Promise<InputResult> {
  if (method === "sampling/createMessage")
    return { role: "assistant", model: "none", content: { type: "text", text: "42" } };
  return { action: "accept", content: { interpretation: "technical", name: "Ada" } };
}

const capabilities = { elicitation: { form: {} }, sampling: {} };

it.each(["2026-07-28", "2025-11-25"] as const)(
  "makes the tools of the reference server durable, and puts its questions to a client of %s",
  { timeout: deadline },
  async (protocolVersion) => {
    const asked: string[] = [];
    const client = await clientOf(await gateway([everythingUpstream()]), {
      protocolVersion,
      capabilities,
      onInput: async (request) => {
        asked.push(request.method);
        return answer(request);
      },
    });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["echo", "get-sum"]));
    const sum = await client.startTool("get-sum", { a: 2, b: 3 });
    expect(sum.reference).toMatchObject({ generation: protocolVersion });
    expect(JSON.stringify(await sum.result())).toContain("5");
    // A task at the reference server, which asks in it.
    const research = await client.callTool("simulate-research-query", { topic: "tasks", ambiguous: true });
    expect(JSON.stringify(research.content)).toContain("Research Report: tasks (technical)");
    // A direct answer, with a question in it.
    const sampled = await client.callTool("trigger-sampling-request", { prompt: "6 by 7?", maxTokens: 9 });
    expect(JSON.stringify(sampled)).toContain("42");
    expect(asked).toEqual(["elicitation/create", "sampling/createMessage"]);
  },
);

it(
  "passes on resources, prompts, completions and progress, for a client without tasks",
  { timeout: deadline },
  async () => {
    const client = await plainClientOf(await gateway([everythingUpstream({ prefix: "e_" })]));
    const progress: unknown[] = [];
    const long = await client.callTool(
      { name: "e_trigger-long-running-operation", arguments: { duration: 0.2, steps: 2 } },
      undefined,
      { onprogress: (report) => progress.push(report.progress) },
    );
    expect(JSON.stringify(long)).toContain("completed");
    expect(progress.length).toBeGreaterThan(0); // they are combined
    const { resources } = await client.listResources();
    const [first] = resources;
    expect(first).toBeDefined();
    expect((await client.readResource({ uri: first?.uri ?? "" })).contents).toHaveLength(1);
    expect((await client.listResourceTemplates()).resourceTemplates.length).toBeGreaterThan(0);
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }) => name)).toContain("e_simple-prompt");
    expect((await client.getPrompt({ name: "e_simple-prompt" })).messages).toHaveLength(1);
    const { completion } = await client.complete({
      ref: { type: "ref/prompt", name: "e_completable-prompt" },
      argument: { name: "department", value: "E" },
    });
    expect(completion.values).toEqual(["Engineering"]);
  },
);

it(
  "makes the tools of a FastMCP server durable, which has no tasks, and its question is answered later",
  { timeout: deadline },
  async () => {
    const path = fileURLToPath(new URL("../../peers/clients/fastmcp-server.ts", import.meta.url));
    const upstream = mcpUpstream("notes", {
      command: process.execPath,
      args: [path, "stdio"],
      env: compileCache,
    });
    const served = await gateway([upstream]);
    const client = await clientOf(served, { onInput: answer });
    const greeting = await client.startTool("greet");
    expect(greeting.taskId).not.toBeNull();
    expect(JSON.stringify(await greeting.result())).toContain("Hello, Ada!");
    const plain = await plainClientOf(served);
    expect(JSON.stringify(await plain.callTool({ name: "add", arguments: { a: 1, b: 2 } }))).toContain("3");
    expect(await plain.callTool({ name: "fail", arguments: {} })).toMatchObject({ isError: true });
  },
);

it("lets the everything client call each tool of the reference server", { timeout: deadline }, async () => {
  const program = fileURLToPath(new URL("../../everything-client/main.ts", import.meta.url));
  const { url } = await gateway([everythingUpstream()]);
  const env = { ...process.env, MCP_CONFORMANCE_SCENARIO: "tools_call" };
  const { stderr } = await promisify(execFile)(process.execPath, [program, url], { env });
  expect(stderr).toBe("");
});
