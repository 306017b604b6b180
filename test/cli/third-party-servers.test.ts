import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text as bodyOf } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import {
  InMemoryTaskMessageQueue,
  InMemoryTaskStore,
} from "@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { ElicitResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it, onTestFinished } from "vitest";
import { fileHandles } from "holdfast/client";
import { fullForm } from "../full-form.ts";
import { script, startHttp, startSse } from "../interop/our-client-everything.ts";
import { serveSessions } from "../sdk-v1/http.ts";
import { folder, holdfast, startHoldfast, type Run } from "./run-cli.ts";
import { runMain } from "./run-main.ts";

const parse = ({ stdout }: Run): Record<string, unknown> => JSON.parse(stdout) as Record<string, unknown>;

interface Check {
  readonly check: string;
  readonly works: boolean | null;
}

const worksOf = (document: Record<string, unknown>): Record<string, boolean | null> =>
  Object.fromEntries((document["checks"] as Check[]).map(({ check, works }) => [check, works]));

/** Commands that share a state folder. */
async function user(): Promise<(...args: string[]) => Promise<Run>> {
  const state = await folder();
  return async (...args) => runMain(args, { env: { HOLDFAST_STATE: state } });
}

describe("the reference everything server", { timeout: 60_000 }, () => {
  it.runIf(fullForm)("over stdio: is examined, and runs its tools and a task", async () => {
    const run = await user();
    const dashes = ["--", process.execPath, script, "stdio"];
    const examined = parse(await run("doctor", "--json", ...dashes));
    expect(examined).toMatchObject({ connected: true, protocolVersion: "2025-11-25", tasks: "2025-11-25" });
    expect(worksOf(examined)).toMatchObject({ connection: true, tasks: true, cancel: true, repeats: false });
    expect(await run("call", "echo", "message=hello", ...dashes)).toMatchObject({
      code: 0,
      stdout: "Echo: hello\n",
    });
    const research = await holdfast(["call", "simulate-research-query", "topic=tasks", ...dashes], {
      env: { HOLDFAST_STATE: await folder() },
    });
    expect(research.code).toBe(0);
    expect(research.stdout).toContain("Research Report: tasks");
    expect(research.stderr).toMatch(/^task \S+\nworking: .+\n/);
  });

  it("over HTTP: lists which tools take tasks, and waits for one", async () => {
    const url = await startHttp();
    const run = await user();
    const { tools } = parse(await run("tools", url, "--json")) as { tools: { name: string; task: string }[] };
    expect(tools.filter(({ task }) => task !== "forbidden")).toMatchObject([
      { name: "simulate-research-query", task: "required" },
    ]);
    const research = await run("call", url, "simulate-research-query", "topic=tasks");
    expect(research).toMatchObject({ code: 0, stdout: expect.stringContaining("Report: tasks") as string });
  });
});

it(
  "examines the everything server over HTTP+SSE, and calls a tool and a task [B-039]",
  { timeout: 60_000 },
  async () => {
    const url = await startSse();
    const run = await user();
    const examined = await run("doctor", url);
    expect(examined.stdout).toMatch(/^connection +yes +over HTTP\+SSE, the transport of 2024-11-05/);
    expect(await run("call", url, "echo", "message=hello")).toMatchObject({
      code: 0,
      stdout: "Echo: hello\n",
    });
    const research = await run("call", url, "simulate-research-query", "topic=tasks");
    expect(research).toMatchObject({ code: 0, stdout: expect.stringContaining("Report: tasks") as string });
  },
);

/** A server on SDK v1 as its makers show it: tasks in memory, one of which asks a question. */
async function serveV1(): Promise<string> {
  const store = new InMemoryTaskStore();
  const queue = new InMemoryTaskMessageQueue();
  const text = (said: string) => ({ content: [{ type: "text" as const, text: said }] });
  const http = await serveSessions(() => {
    const tasks = { list: {}, cancel: {}, requests: { tools: { call: {} } } };
    const mcp = new McpServer(
      { name: "v1", version: "1.0.0" },
      { taskStore: store, taskMessageQueue: queue, capabilities: { tools: {}, tasks } },
    );
    mcp.registerTool("echo", {}, async () => text("echo"));
    mcp.experimental.tasks.registerToolTask(
      "ask",
      { execution: { taskSupport: "required" } },
      {
        createTask: async ({ taskStore, sendRequest }) => {
          const task = await taskStore.createTask({ ttl: 60_000, pollInterval: 20 });
          const { taskId } = task;
          const params = { message: "Go on?", requestedSchema: { type: "object" as const, properties: {} } };
          const related: object = { relatedTask: { taskId } };
          const work = async (): Promise<void> => {
            await taskStore.updateTaskStatus(taskId, "input_required");
            const { action } = await sendRequest(
              { method: "elicitation/create", params },
              ElicitResultSchema,
              related,
            );
            await taskStore.storeTaskResult(taskId, "completed", text(`said ${action}`));
          };
          work().catch(() => undefined);
          return { task };
        },
        getTask: async ({ taskId, taskStore }) => taskStore.getTask(taskId),
        getTaskResult: async ({ taskId, taskStore }) =>
          (await taskStore.getTaskResult(taskId)) as ReturnType<typeof text>,
      },
    );
    return mcp;
  });
  onTestFinished(async () => {
    store.cleanup();
    await http.close();
  });
  return http.url.href;
}

it("an SDK v1 server with tasks in memory: runs what is no task, and cancels what is at a second Ctrl-C", async () => {
  const url = await serveV1();
  const state = await folder();
  const run = async (...args: string[]): Promise<Run> => runMain(args, { env: { HOLDFAST_STATE: state } });
  expect(await run("call", url, "echo")).toEqual({ code: 0, stdout: "echo\n", stderr: "" });
  // That store shows a task to the session that made it, and to no other.
  const id = (await run("call", url, "ask", "--detach")).stdout.trim();
  expect(await run("get", id, "--json")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('"input_required"') as string,
  });
  expect(await run("answer", id, "--accept")).toMatchObject({ code: 0 });
  expect(await run("result", id)).toMatchObject({ code: 0, stdout: "said accept\n" });
  expect((await run("ls", "--json")).stdout).toBe('{"tasks":[]}\n');
  // Its session goes on, so that its result can be read again.
  expect(await run("result", id)).toMatchObject({ code: 0, stdout: "said accept\n" });
  // In another session the server has lost the task, which is said where its result is asked for again.
  const handles = fileHandles(join(state, "state.db"));
  const session = await handles.findSession(url, "2025-11-25");
  expect(session && (await handles.dropSession(session))).toBe(true);
  const over = await run("result", id);
  expect(over).toMatchObject({ code: 5, stdout: "" });
  expect(over.stderr).toContain("It has ended, and servers keep results only for a while.");
  const lost = await run("get", "of-another-session", "--server", url);
  expect(lost).toMatchObject({ code: 5, stdout: "" });
  expect(lost.stderr).toContain("the session that started it");
  const asking = startHoldfast(["call", url, "ask"], { env: { HOLDFAST_STATE: await folder() } });
  await asking.told(/input_required\n.*answer/i);
  asking.kill("SIGINT");
  await asking.told(/again/);
  asking.kill("SIGINT");
  expect(await asking.ended).toMatchObject({ code: 4, stdout: "" });
});

it("an SDK v2 server without tasks: is called plainly, with typed arguments, and says so", async () => {
  const run = await user();
  const server = `${process.execPath} ${fileURLToPath(new URL("v2-server.ts", import.meta.url))}`;
  const examined = parse(await run("doctor", server, "--json"));
  expect(examined).toMatchObject({ connected: true, tasks: null });
  expect(worksOf(examined)).toMatchObject({ connection: true, tasks: false, tools: true });
  const joined = await run("call", server, "join", "words=a", "words=b", "times=2", "loud=true", "--detach");
  expect(joined).toEqual({ code: 0, stdout: "A BA B\n", stderr: "" });
  // A pipe is given what the server sent; only a terminal could obey it.
  expect((await run("call", server, "colour")).stdout).toBe("\u001b[31mred\u001b[0m\u0007\n");
  const listed = await run("tools", server);
  expect(listed.stdout).toContain("join\n    words=list of string\n    times=integer?\n    loud=boolean?\n");
});

it("a server of 2025-06-18: tells of a task that was started elsewhere", { timeout: 60_000 }, async () => {
  const results: Readonly<Record<string, object>> = {
    initialize: {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {} },
      serverInfo: { name: "early", version: "1.0.0" },
    },
    "tasks/get": { taskId: "t1", status: "working", keepAlive: null },
  };
  const http = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const { id, method } = JSON.parse(body || "{}") as { id?: number; method?: string };
      if (id === undefined) return response.writeHead(request.method === "POST" ? 202 : 405).end();
      const result = results[method ?? ""];
      const answer = result === undefined ? { error: { code: -32601, message: "unknown" } } : { result };
      response.setHeader("content-type", "application/json");
      return response.end(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
    });
  }).listen(0, "127.0.0.1");
  await once(http, "listening");
  onTestFinished(() => void http.close());
  const run = await user();
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  expect(parse(await run("get", "t1", "--server", url, "--json"))).toMatchObject({ status: "working" });
});
