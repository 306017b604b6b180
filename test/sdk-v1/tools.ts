import { setTimeout as sleep } from "node:timers/promises";
import type { CreateTaskRequestHandlerExtra } from "@modelcontextprotocol/sdk/experimental/tasks";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import {
  CallToolResultSchema,
  type CallToolResult,
  type ElicitRequestFormParams,
} from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod";
import type { SdkV1Tasks } from "../../src/sdk-v1/open-tasks.ts";

export const pollMs = 20;

type Work = (taskId: string) => Promise<CallToolResult>;

/**
 * A server with the tools of the SDK's example task servers: `delay` is that of its simpleStreamableHttp,
 * `confirm_delete` and `write_haiku` those of its simpleTaskInteractive. Their code knows nothing of where tasks live.
 */
export function exampleServer({
  taskStore,
  taskMessageQueue,
}: Pick<SdkV1Tasks, "taskStore" | "taskMessageQueue">) {
  const tasks = { list: {}, cancel: {}, requests: { tools: { call: {} } } };
  const server = new McpServer(
    { name: "example", version: "1.0.0" },
    { capabilities: { tasks }, taskStore, taskMessageQueue, maxTaskQueueSize: 5 },
  );

  server.experimental.tasks.registerToolTask(
    "delay",
    { inputSchema: { ms: z.number(), fails: z.boolean().optional() } },
    {
      ...readers,
      createTask: ({ ms, fails }, extra) =>
        begin(extra, async () => {
          await sleep(ms, undefined, { ref: false });
          if (fails === true) throw new Error("no more time");
          return said(`Completed ${ms}ms delay`);
        }),
    },
  );

  server.experimental.tasks.registerToolTask(
    "confirm_delete",
    { inputSchema: { filename: z.string() } },
    {
      ...readers,
      createTask: ({ filename }, extra) =>
        begin(extra, async (taskId) => {
          const answer = await asks(extra.taskStore, taskId, () =>
            server.server.elicitInput(confirmation(filename), { relatedTask: { taskId } }),
          );
          const confirmed = answer.action === "accept" && answer.content?.["confirm"] === true;
          return said(confirmed ? `Deleted '${filename}'` : "Deletion cancelled");
        }),
    },
  );

  server.experimental.tasks.registerToolTask(
    "write_haiku",
    { inputSchema: { topic: z.string() } },
    {
      ...readers,
      createTask: ({ topic }, extra) =>
        begin(extra, async (taskId) => {
          const content = { type: "text" as const, text: `Write a haiku about ${topic}` };
          const params = { messages: [{ role: "user" as const, content }], maxTokens: 50 };
          const answer = await asks(extra.taskStore, taskId, () =>
            server.server.createMessage(params, { relatedTask: { taskId } }),
          );
          return said(`Haiku:\n${answer.content.type === "text" ? answer.content.text : ""}`);
        }),
    },
  );
  return server;
}

const readers = {
  getTask: (_args: object, { taskId, taskStore }: { taskId: string; taskStore: Stored }) =>
    taskStore.getTask(taskId),
  getTaskResult: async (_args: object, { taskId, taskStore }: { taskId: string; taskStore: Stored }) =>
    CallToolResultSchema.parse(await taskStore.getTaskResult(taskId)),
};
type Stored = CreateTaskRequestHandlerExtra["taskStore"];

/** The status around a question, which a server has to give itself. */
async function asks<T>(taskStore: Stored, taskId: string, ask: () => Promise<T>): Promise<T> {
  await taskStore.updateTaskStatus(taskId, "input_required");
  const answer = await ask();
  await taskStore.updateTaskStatus(taskId, "working");
  return answer;
}

function confirmation(filename: string): ElicitRequestFormParams {
  const message = `Are you sure you want to delete '${filename}'?`;
  const properties = { confirm: { type: "boolean" as const } };
  return { mode: "form", message, requestedSchema: { type: "object", properties } };
}

function said(text: string): CallToolResult {
  return { content: [{ type: "text", text }] };
}

/** Creates the task, and works on it behind the answer, as the examples do. */
async function begin({ taskStore, taskRequestedTtl }: CreateTaskRequestHandlerExtra, work: Work) {
  const task = await taskStore.createTask({ ttl: taskRequestedTtl ?? null, pollInterval: pollMs });
  void work(task.taskId)
    .then(
      (result) => taskStore.storeTaskResult(task.taskId, "completed", result),
      (error: unknown) =>
        taskStore.storeTaskResult(task.taskId, "failed", { ...said(String(error)), isError: true }),
    )
    // A task that was cancelled takes no result any more.
    .catch(() => undefined);
  return { task };
}
