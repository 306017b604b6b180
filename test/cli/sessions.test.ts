import { stat } from "node:fs/promises";
import { join } from "node:path";
import {
  InMemoryTaskMessageQueue,
  InMemoryTaskStore,
} from "@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js";
import { McpServer as McpServerV1 } from "@modelcontextprotocol/sdk/server/mcp.js";
import { ElicitResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { connect, fileHandles, type ConnectOptions } from "holdfast/client";
import { describe, expect, it, onTestFinished } from "vitest";
import { serveSessions } from "../sdk-v1/http.ts";
import { countingProxy } from "./counting-proxy.ts";
import { folder, type Run } from "./run-cli.ts";
import { runMain } from "./run-main.ts";

const text = (said: string) => ({ content: [{ type: "text" as const, text: said }] });

/** Left out of the type of the function that takes it. */
const related = (taskId: string): object => ({ relatedTask: { taskId } });

/** A server on SDK v1, whose store shows a task only to the session that made it. */
async function serverOnV1(): Promise<string> {
  const taskStore = new InMemoryTaskStore();
  const taskMessageQueue = new InMemoryTaskMessageQueue();
  const tasks = { cancel: {}, requests: { tools: { call: {} } } };
  const http = await serveSessions(() => {
    const mcp = new McpServerV1(
      { name: "v1", version: "1.0.0" },
      { taskStore, taskMessageQueue, capabilities: { tools: {}, tasks } },
    );
    mcp.experimental.tasks.registerToolTask(
      "ask",
      { execution: { taskSupport: "required" } },
      {
        createTask: async ({ taskStore: store, sendRequest }) => {
          const task = await store.createTask({ ttl: 600_000, pollInterval: 20 });
          const { taskId } = task;
          const params = { message: "Go on?", requestedSchema: { type: "object" as const, properties: {} } };
          const work = async (): Promise<void> => {
            await store.updateTaskStatus(taskId, "input_required");
            const request = { method: "elicitation/create" as const, params };
            const { action } = await sendRequest(request, ElicitResultSchema, related(taskId));
            await store.updateTaskStatus(taskId, "working");
            await store.storeTaskResult(taskId, "completed", text(`said ${action}`));
          };
          work().catch(() => undefined);
          return { task };
        },
        getTask: async ({ taskId, taskStore: store }) => store.getTask(taskId),
        getTaskResult: async ({ taskId, taskStore: store }) =>
          (await store.getTaskResult(taskId)) as ReturnType<typeof text>,
      },
    );
    return mcp;
  });
  onTestFinished(async () => {
    taskStore.cleanup();
    await http.close();
  });
  return http.url.href;
}

describe("commands to a server that shows a task only to its session", { timeout: 60_000 }, () => {
  async function user() {
    const proxy = await countingProxy(await serverOnV1());
    const state = await folder();
    const outputs: string[] = [];
    const run = async (...args: string[]): Promise<Run> => {
      const ran = await runMain(args, { env: { HOLDFAST_STATE: state } });
      outputs.push(ran.stdout, ran.stderr);
      return ran;
    };
    const sessions = (): readonly (string | undefined)[] => [
      ...new Set(proxy.passed.map(({ session }) => session).filter((id) => id !== undefined)),
    ];
    return { ...proxy, state, run, outputs, sessions };
  }

  it("share one session, which ends when none of its tasks is listed", async () => {
    const { url, run, count, sessions, state, outputs } = await user();
    const start = async (): Promise<string> => (await run("call", url, "ask", "--detach")).stdout.trim();
    const [one, other] = [await start(), await start()];
    expect(await run("get", one)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("input_required") as string,
    });
    expect(await run("answer", one, "--accept")).toMatchObject({ code: 0 });
    expect(await run("result", one)).toMatchObject({ code: 0, stdout: "said accept\n" });
    // It is over, and its result can be read again.
    expect(await run("result", one)).toMatchObject({ code: 0, stdout: "said accept\n" });
    expect((await run("ls", "--refresh")).code).toBe(0);
    expect([count("initialize"), count("DELETE"), sessions().length]).toEqual([1, 0, 1]);
    const [id = "none"] = sessions();
    expect(outputs.join("")).not.toContain(id);
    const handles = fileHandles(join(state, "state.db"));
    expect(await handles.findSession(url, "2025-11-25")).toMatchObject({ id });
    expect((await stat(join(state, "state.db"))).mode & 0o077).toBe(0);

    await run("forget", one);
    await run("cancel", other);
    await run("forget", other);
    expect(await run("tools", url)).toMatchObject({ code: 0 });
    expect([count("initialize"), count("DELETE"), sessions().length]).toEqual([1, 1, 1]);
    expect(await handles.findSession(url, "2025-11-25")).toBeUndefined();
  });
});

interface Left {
  readonly form: ConnectOptions;
  /** Whether its client was killed, before it could keep the session. */
  readonly killed: boolean;
}

const left: readonly Left[] = [
  { form: { protocolVersion: "2025-11-25" }, killed: false },
  { form: { generation: "sep-1686" }, killed: false },
  { form: { generation: "sep-1686" }, killed: true },
];

it.each(left)(
  "find a task in a session of our own server: %j",
  { timeout: 60_000 },
  async ({ form, killed }) => {
    const tasks = createTasks({ store: memoryStore() });
    const finish = Promise.withResolvers<void>();
    tasks.tool("hello", {}, async () => {
      await finish.promise;
      return text("hello");
    });
    // Callers are not told apart, so that tasks of SEP-1686 belong to their session.
    const http = await serveHttp(
      tasks.server(() => new McpServer({ name: "own", version: "1.0.0" })),
      { port: 0, anonymous: "isolated" },
    );
    onTestFinished(async () => http.close());
    const { url, count } = await countingProxy(http.url);
    const state = await folder();
    const capabilities = { elicitation: { form: {}, url: {} } };
    const handles = fileHandles(join(state, "state.db"));
    const client = await connect(url, { ...form, capabilities, handles });
    const { taskId } = await client.startTool("hello");
    await client.close();
    expect(count("DELETE")).toBe(0);
    const session = await handles.findSession(url, form.generation ?? "2025-11-25");
    expect(session).toBeDefined();
    if (killed && session !== undefined) await handles.dropSession(session);
    finish.resolve();
    const env = { HOLDFAST_STATE: state };
    expect(await runMain(["get", taskId ?? ""], { env })).toMatchObject({ code: 0 });
    expect(await runMain(["result", taskId ?? ""], { env })).toMatchObject({ code: 0, stdout: "hello\n" });
    expect(count("initialize")).toBe(killed ? 3 : 1);
  },
);
