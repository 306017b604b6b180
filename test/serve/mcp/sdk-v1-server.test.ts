import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  InMemoryTaskMessageQueue,
  InMemoryTaskStore,
} from "@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { ElicitResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { sqliteStore } from "holdfast/sqlite";
import { expect, it, onTestFinished } from "vitest";
import { mcpUpstream } from "../../../src/serve/mcp/mcp-upstream.ts";
import { serveSessions } from "../../sdk-v1/http.ts";
import { clientOf, gateway, plainClientOf, until } from "./gateway.ts";

const deadline = 30_000;
const text = (said: string) => ({ content: [{ type: "text" as const, text: said }] });

/** Left out of the type of the function that takes it. */
const related = (taskId: string): object => ({ relatedTask: { taskId } });

/** A server that is written against the experimental tasks of SDK v1. Its tool `work` waits for `go`. */
async function sdkV1Server() {
  const store = new InMemoryTaskStore();
  const queue = new InMemoryTaskMessageQueue();
  const gate = Promise.withResolvers<void>();
  let created = 0;
  const makeServer = (): McpServer => {
    const mcp = new McpServer(
      { name: "v1", version: "1.0.0" },
      {
        taskStore: store,
        taskMessageQueue: queue,
        capabilities: { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
      },
    );
    for (const name of ["ask", "work"]) {
      mcp.experimental.tasks.registerToolTask(
        name,
        { execution: { taskSupport: "required" } },
        {
          createTask: async ({ taskStore: tasks, sendRequest }) => {
            created++;
            const task = await tasks.createTask({ ttl: null, pollInterval: 20 });
            const { taskId } = task;
            const work = async (): Promise<void> => {
              let said = "worked";
              if (name === "work") await gate.promise;
              else {
                await tasks.updateTaskStatus(taskId, "input_required");
                const params = {
                  message: "Go on?",
                  requestedSchema: { type: "object" as const, properties: {} },
                };
                const question = { method: "elicitation/create" as const, params };
                said = `said ${(await sendRequest(question, ElicitResultSchema, related(taskId))).action}`;
                await tasks.updateTaskStatus(taskId, "working");
              }
              await tasks.storeTaskResult(taskId, "completed", text(said));
            };
            work().catch(() => undefined);
            return { task };
          },
          getTask: async ({ taskId, taskStore: tasks }) => tasks.getTask(taskId),
          getTaskResult: async ({ taskId, taskStore: tasks }) =>
            (await tasks.getTaskResult(taskId)) as ReturnType<typeof text>,
        },
      );
    }
    return mcp;
  };
  const http = await serveSessions(makeServer);
  onTestFinished(async () => {
    store.cleanup();
    await http.close();
  });
  return { url: http.url.href, go: () => gate.resolve(), created: () => created };
}

it.each(["2026-07-28", "2025-11-25"] as const)(
  "puts a question of a task on SDK v1 to a client of %s",
  { timeout: deadline },
  async (protocolVersion) => {
    const v1 = await sdkV1Server();
    const client = await clientOf(await gateway([mcpUpstream("v1", { url: v1.url })]), {
      protocolVersion,
      onInput: async () => ({ action: "accept", content: {} }),
    });
    expect(await client.callTool("ask")).toMatchObject(text("said accept"));
  },
);

it(
  "finds a task on SDK v1 again after a restart of the gateway, and answers a client without tasks",
  { timeout: deadline },
  async () => {
    const v1 = await sdkV1Server();
    const folder = await mkdtemp(join(tmpdir(), "holdfast-gateway-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const start = () =>
      gateway([mcpUpstream("v1", { url: v1.url })], {
        store: sqliteStore(join(folder, "tasks.db")),
        plain: "ticket",
        plainDeadlineMs: 100,
      });
    const first = await start();
    const before = await plainClientOf(first);
    const ticket = await before.callTool({ name: "work", arguments: {} });
    const [, reference] = /reference[^A-Za-z0-9]+([\w-]{4,})/u.exec(JSON.stringify(ticket)) ?? [];
    expect(reference).toBeDefined();
    await until(() => v1.created() === 1);
    await before.close();
    await first.close();
    const after = await plainClientOf(await start());
    v1.go();
    await until(async () => {
      const answer = await after.callTool({ name: "task_result", arguments: { reference } });
      return JSON.stringify(answer).includes("worked");
    });
    expect(v1.created()).toBe(1);
  },
);
