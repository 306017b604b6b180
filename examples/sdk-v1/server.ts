import { setTimeout as sleep } from "node:timers/promises";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { openSdkV1Tasks } from "holdfast/sdk-v1";
import { sqliteStore } from "holdfast/sqlite";
import * as z from "zod";

// One for the whole process, even with an McpServer per session.
const durable = await openSdkV1Tasks({ store: sqliteStore("tasks.db") });

const server = new McpServer(
  { name: "reports", version: "1.0.0" },
  {
    capabilities: { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
    taskStore: durable.taskStore,
    taskMessageQueue: durable.taskMessageQueue,
  },
);

server.experimental.tasks.registerToolTask(
  "render_report",
  { description: "Renders the monthly report", inputSchema: { month: z.string(), ms: z.number() } },
  {
    createTask: async ({ month, ms }, { taskStore, taskRequestedTtl }) => {
      const task = await taskStore.createTask({ ttl: taskRequestedTtl ?? 3_600_000, pollInterval: 100 });
      const result = { content: [{ type: "text", text: `the report of ${month}` }] };
      sleep(ms)
        .then(() => taskStore.storeTaskResult(task.taskId, "completed", result))
        .catch(console.error); // a cancelled task, for example, accepts no result
      return { task };
    },
    getTask: (_args, { taskId, taskStore }) => taskStore.getTask(taskId),
    getTaskResult: async (_args, { taskId, taskStore }) =>
      CallToolResultSchema.parse(await taskStore.getTaskResult(taskId)),
  },
);

await server.connect(new StdioServerTransport());
