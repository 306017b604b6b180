import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { expect, it } from "vitest";
import * as z from "zod";
import { tasksExtension, text } from "../../kit/messages.ts";
import { InMemorySession } from "../../kit/in-memory-session.ts";
import { serve, startServer } from "../../kit/server.ts";
import { StatelessClient } from "../../kit/stateless-client.ts";
import { fourTools, Job } from "./job.ts";

const plain = { plain: "ticket", plainDeadlineMs: 20, pollingTools: fourTools } as const;
const without = { capabilities: {} };

interface Config {
  readonly inputSchema?: { readonly "~standard": { readonly jsonSchema: { input(): unknown } } };
}

/** A server, and the JSON Schemas that its tools are registered with. */
function noting(): { mcp: McpServer; schemas: unknown[] } {
  const mcp = new McpServer({ name: "jobs", version: "1.0.0" });
  const schemas: unknown[] = [];
  const register = mcp.registerTool.bind(mcp) as (...all: unknown[]) => unknown;
  const registerTool = (name: string, config: Config, handler: unknown): unknown => {
    const schema = config.inputSchema?.["~standard"].jsonSchema.input();
    if (schema !== undefined) schemas.push(schema);
    return register(name, config, handler);
  };
  return { mcp: Object.assign(mcp, { registerTool }), schemas };
}

it.each(["legacy", "modern"] as const)(
  "registers the same schema objects with all %s servers, since the SDK keeps what it makes of each",
  async (era) => {
    const tasks = createTasks({ store: memoryStore(), pollingTools: fourTools });
    tasks.tool("job", {}, () => text("done"));
    const made: unknown[][] = [];
    const server = tasks.server(() => {
      const { mcp, schemas } = noting();
      made.push(schemas);
      return mcp;
    });
    for (let count = 0; count < 2; count++) await server.create({ era }, { principal: "ann" });
    const [first = [], second = []] = made;
    expect(first).toHaveLength(4);
    for (const [index, schema] of first.entries()) expect(second[index]).toBe(schema);
  },
);

it("lists polling tools to clients without tasks only, and no output schema for a tool with tickets", async () => {
  const outputSchema = z.object({ done: z.boolean() });
  const { http } = await serve({
    tools: (tasks) => {
      tasks.tool("typed", { outputSchema }, () => ({ content: [], structuredContent: { done: true } }));
      tasks.tool("waits", { outputSchema, plain: "wait" }, () => ({
        content: [],
        structuredContent: { done: true },
      }));
    },
    options: plain,
    http: { anonymous: "shared" },
  });
  const peer = new StatelessClient(http.url);
  const list = async (capabilities: object): Promise<Record<string, unknown>> =>
    peer.result("tools/list", {}, { capabilities });
  const speaks = await list({ extensions: tasksExtension });
  expect(speaks["tools"]).toMatchObject([
    { name: "typed", outputSchema: {} },
    { name: "waits", outputSchema: {} },
  ]);
  expect(speaks["tools"]).toHaveLength(2);
  const { tools, cacheScope } = await list({});
  expect(cacheScope).toBe("private");
  expect((tools as { name: string }[]).map(({ name }) => name)).toEqual([
    "typed",
    "waits",
    "task_result",
    "task_cancel",
    "task_answer",
    "task_list",
  ]);
  expect((tools as object[])[0]).not.toHaveProperty("outputSchema");
  expect((tools as object[])[1]).toHaveProperty("outputSchema");
  // Clients with tasks cannot call them either.
  const { error } = await peer.call("task_list", {}, { capabilities: { extensions: tasksExtension } });
  expect(error).toMatchObject({ code: -32602, message: "Tool task_list not found" });
});

it("leaves the list as it is if no tool has tickets", async () => {
  const peer = await StatelessClient.of({ tools: (tasks) => new Job().add(tasks, { plain: "wait" }) });
  const { tools, cacheScope } = await peer.result("tools/list", {}, without);
  const { tools: others, cacheScope: othersScope } = await peer.result("tools/list");
  expect([tools, cacheScope]).toEqual([others, othersScope]);
});

it("treats a session as one without tasks until it asks for a task", async () => {
  const job = new Job();
  const { server } = await startServer((tasks) => job.add(tasks), plain);
  const names = async (session: InMemorySession): Promise<string[]> => {
    const { tools } = await session.request("tools/list");
    return (tools as { name: string }[]).map(({ name }) => name).filter((name) => name.startsWith("task_"));
  };
  const pollingTools = ["task_result", "task_cancel", "task_answer", "task_list"];
  expect(await names(await InMemorySession.open(server, { capabilities: { tasks: {} } }))).toEqual([]);
  const session = await InMemorySession.open(server);
  expect(await names(session)).toEqual(pollingTools);
  await session.start("job");
  expect(await names(session)).toEqual([]);
  expect(await session.error("tools/call", { name: "task_list", arguments: {} })).toMatchObject({
    code: -32602,
    message: "Tool task_list not found",
  });
  // A revision without tasks ignores what is declared and asked for there.
  const older = await InMemorySession.open(server, { version: "2025-06-18", capabilities: { tasks: {} } });
  expect(await names(older)).toEqual(pollingTools);
  job.end();
});

it("lists to clients with tasks what it would list without tickets, and reports no changed list", async () => {
  const list = async (policy: "wait" | "ticket"): Promise<unknown> => {
    const { server } = await startServer(
      (tasks) => tasks.tool("typed", { outputSchema: z.object({}) }, () => ({})),
      { plain: policy },
    );
    const session = await InMemorySession.open(server, { capabilities: { tasks: {} } });
    const { tools } = await session.request("tools/list");
    await session.start("typed");
    await session.request("tools/list");
    expect(session.requests("notifications/tools/list_changed")).toEqual([]);
    return tools;
  };
  expect(await list("ticket")).toEqual(await list("wait"));
});
