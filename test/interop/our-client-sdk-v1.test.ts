import {
  InMemoryTaskMessageQueue,
  InMemoryTaskStore,
} from "@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { ElicitResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { connect, memoryHandles, type ConnectOptions, type TaskClient } from "holdfast/client";
import { expect, it, onTestFinished } from "vitest";
import { countingProxy } from "../cli/counting-proxy.ts";
import { serveSessions } from "../sdk-v1/http.ts";

const text = (said: string) => ({ content: [{ type: "text" as const, text: said }] });

/** Left out of the type of the function that takes it. */
const related = (taskId: string): object => ({ relatedTask: { taskId } });

interface Peer {
  readonly client: TaskClient;
  readonly store: InMemoryTaskStore;
}

/** Our client of a server that is written against the experimental tasks of SDK v1, as its makers show it. */
async function setUp(options: ConnectOptions = {}): Promise<Peer> {
  const { url, store } = await serve();
  const client = await connectTo(url, options);
  return { client, store };
}

async function connectTo(url: URL, options: ConnectOptions): Promise<TaskClient> {
  const client = await connect(url, { pollFloorMs: 1, ...options });
  onTestFinished(async () => client.close());
  return client;
}

async function serve(): Promise<{ url: URL; store: InMemoryTaskStore }> {
  const store = new InMemoryTaskStore();
  const queue = new InMemoryTaskMessageQueue();
  const http = await serveSessions(() => makeServer(store, queue));
  onTestFinished(async () => {
    store.cleanup();
    await http.close();
  });
  return { url: http.url, store };
}

function makeServer(taskStore: InMemoryTaskStore, taskMessageQueue: InMemoryTaskMessageQueue): McpServer {
  const mcp = new McpServer(
    { name: "v1", version: "1.0.0" },
    {
      taskStore,
      taskMessageQueue,
      capabilities: { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
    },
  );
  mcp.registerTool("echo", {}, async () => text("echo"));
  mcp.experimental.tasks.registerToolTask(
    "ask",
    { execution: { taskSupport: "required" } },
    {
      createTask: async ({ taskStore: tasks, sendRequest, taskRequestedTtl }) => {
        const task = await tasks.createTask({ ttl: taskRequestedTtl ?? null, pollInterval: 20 });
        const { taskId } = task;
        const params = { message: "Go on?", requestedSchema: { type: "object" as const, properties: {} } };
        const work = async (): Promise<void> => {
          await tasks.updateTaskStatus(taskId, "input_required");
          const request = { method: "elicitation/create" as const, params };
          const { action } = await sendRequest(request, ElicitResultSchema, related(taskId));
          await tasks.updateTaskStatus(taskId, "working");
          await tasks.storeTaskResult(taskId, "completed", text(`said ${action}`));
        };
        work().catch(() => undefined);
        return { task };
      },
      getTask: async ({ taskId, taskStore: tasks }) => tasks.getTask(taskId),
      getTaskResult: async ({ taskId, taskStore: tasks }) =>
        (await tasks.getTaskResult(taskId)) as ReturnType<typeof text>,
    },
  );
  mcp.experimental.tasks.registerToolTask(
    "fail",
    { execution: { taskSupport: "optional" } },
    {
      createTask: async ({ taskStore: tasks }) => {
        const task = await tasks.createTask({ ttl: null, pollInterval: 20 });
        await tasks.storeTaskResult(task.taskId, "failed", { ...text("no paper"), isError: true });
        return { task };
      },
      getTask: async ({ taskId, taskStore: tasks }) => tasks.getTask(taskId),
      getTaskResult: async ({ taskId, taskStore: tasks }) =>
        (await tasks.getTaskResult(taskId)) as ReturnType<typeof text>,
    },
  );
  return mcp;
}

it("answers what a task asks on the stream of tasks/result, and takes its result [C-093 C-095]", async () => {
  const asked: unknown[] = [];
  const { client } = await setUp({
    onInput: async ({ method, taskId }) => {
      asked.push([method, taskId]);
      return { action: "accept", content: {} };
    },
  });
  const handle = await client.startTool("ask", {}, { ttlMs: 50_000 });
  expect(await handle.get()).toMatchObject({ ttlMs: 50_000, pollIntervalMs: 20 });
  expect(await handle.result()).toMatchObject(text("said accept"));
  expect(asked).toEqual([["elicitation/create", handle.taskId]]);
});

it("calls plainly what is no task there, and takes a failed result for one", async () => {
  const { client } = await setUp();
  expect(await client.callTool("echo")).toMatchObject(text("echo"));
  expect(await client.callTool("fail")).toMatchObject({ ...text("no paper"), isError: true });
});

it("cancels a task that waits for an answer", async () => {
  const waiting = Promise.withResolvers<void>();
  const { client } = await setUp({
    onInput: ({ signal }) =>
      new Promise((_, reject) => {
        waiting.resolve();
        signal.addEventListener("abort", () => reject(new Error("taken back")));
      }),
  });
  const handle = await client.startTool("ask");
  const result = handle.result();
  await waiting.promise;
  await handle.cancel();
  await expect(result).rejects.toMatchObject({ code: "cancelled" });
});

it.each([
  ["was closed", 1],
  ["was killed", 2],
])("takes up a task, and its question, of an earlier client that %s", async (how, sessions) => {
  const { url: target } = await serve();
  const proxy = await countingProxy(target.href);
  const url = new URL(proxy.url);
  const handles = memoryHandles();
  const onInputOfFirst = async (): Promise<never> => new Promise<never>(() => undefined);
  const first = await connectTo(url, { handles, onInput: onInputOfFirst });
  await first.startTool("ask");
  await first.close();
  const session = await handles.findSession(url.href, "2025-11-25");
  if (how === "was killed" && session !== undefined) await handles.dropSession(session);
  const asked: string[] = [];
  const second = await connectTo(url, {
    handles,
    onInput: async ({ method }) => {
      asked.push(method);
      return { action: "accept", content: {} };
    },
  });
  const [call] = await second.pending();
  expect(await (await call?.take())?.result()).toMatchObject(text("said accept"));
  expect(asked).toEqual(["elicitation/create"]);
  expect(await second.pending()).toEqual([]);
  expect(proxy.count("initialize")).toBe(sessions);
});
