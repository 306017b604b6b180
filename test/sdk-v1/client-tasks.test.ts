import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import {
  CallToolResultSchema,
  ElicitRequestSchema,
  ElicitResultSchema,
  type ElicitRequestFormParams,
} from "@modelcontextprotocol/sdk/types.js";
import { expect, it, onTestFinished } from "vitest";
import { openDurable, storeNames } from "./stores.ts";

const question: ElicitRequestFormParams = {
  mode: "form",
  message: "Who are you?",
  requestedSchema: { type: "object", properties: { name: { type: "string" } } },
};
const answer = { action: "accept", content: { name: "Ann" } } as const;

// The flow of the SDK's collect-user-info-task: the client is the one that keeps the task.
it.each(storeNames)("a client answers a question by a task of its own, on %s", async (name) => {
  const { taskStore } = await openDurable(name);
  const client = new Client(
    { name: "client", version: "1.0.0" },
    {
      capabilities: {
        elicitation: { form: {} },
        tasks: { list: {}, cancel: {}, requests: { elicitation: { create: {} } } },
      },
      taskStore,
    },
  );
  client.setRequestHandler(ElicitRequestSchema, async (_request, extra) => {
    if (extra.taskStore === undefined) throw new Error("no task store");
    const task = await extra.taskStore.createTask({ ttl: extra.taskRequestedTtl ?? null, pollInterval: 20 });
    setImmediate(() => void taskStore.storeTaskResult(task.taskId, "completed", answer));
    return { task };
  });

  const server = new McpServer({ name: "server", version: "1.0.0" });
  server.registerTool("collect", {}, async () => {
    const kinds = new Set<string>();
    const stream = server.server.experimental.tasks.elicitInputStream(question, { task: { ttl: 60_000 } });
    let text = "";
    for await (const message of stream) {
      kinds.add(message.type);
      if (message.type === "result") text = JSON.stringify(ElicitResultSchema.parse(message.result).content);
      if (message.type === "error") text = message.error.message;
    }
    return { content: [{ type: "text", text: `${text} by ${[...kinds].join(", ")}` }] };
  });

  const [near, far] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(far), client.connect(near)]);
  onTestFinished(() => client.close());
  const result = CallToolResultSchema.parse(await client.callTool({ name: "collect" }));
  expect(result.content).toEqual([
    { type: "text", text: '{"name":"Ann"} by taskCreated, taskStatus, result' },
  ]);
  expect((await taskStore.listTasks()).tasks).toMatchObject([{ status: "completed", ttl: 60_000 }]);
});
