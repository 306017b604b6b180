import { PassThrough } from "node:stream";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type Tasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { serveStdio } from "holdfast/stdio";
import { expect, it, onTestFinished } from "vitest";
import { text } from "../../kit/messages.ts";
import { serve, type Served } from "../../kit/server.ts";
import { SessionClient } from "../../kit/session-client.ts";
import { StatelessClient, type WireResponse } from "../../kit/stateless-client.ts";
import { StdioClient } from "../../kit/stdio-client.ts";
import { listenTo } from "../../kit/subscription.ts";
import { ticketOf } from "../plain/job.ts";

const tools = (tasks: Tasks): void => {
  tasks.tool("add", {}, () => text("3"));
  tasks.tool("endless", {}, async (_args, task) => {
    await new Promise((resolve) => task.signal.addEventListener("abort", resolve));
    return text("stopped");
  });
};

const authenticate = async (request: Request): Promise<string | undefined> =>
  request.headers.get("authorization")?.replace("Bearer ", "");

const as = (name: string): { headers: Record<string, string> } => ({
  headers: { Authorization: `Bearer ${name}` },
});

const rates = { callsPerMinute: 2, listsPerMinute: 1, missesPerMinute: 2, pollsPerInterval: 3 };

function limited(): Promise<Served> {
  return serve({ tools, http: { authenticate }, options: { rates, pollIntervalMs: 3_600_000 } });
}

it("answers 429 with Retry-After and a JSON-RPC error, to the one who is too fast", async () => {
  const { http, errors } = await limited();
  const peer = new StatelessClient(http.url);
  const taskId = await peer.start("endless", {}, as("alice"));
  await peer.start("add", {}, as("alice"));
  const refused = await peer.call("add", {}, { ...as("alice"), id: "r-1" });
  expect(refused).toMatchObject({ status: 429, id: "r-1", error: { code: -32000 } });
  expect(Number(refused.headers.get("Retry-After"))).toBeGreaterThan(0);
  await peer.start("add", {}, as("bob"));
  for (let i = 0; i < 3; i += 1) await peer.get(taskId, as("alice"));
  expect(await peer.send("tasks/get", { taskId }, as("alice"))).toMatchObject({ status: 429 });
  expect((await peer.send("tasks/cancel", { taskId }, as("alice"))).status).toBe(200);
  expect(errors).toEqual([]);
});

it("counts nobody's polls for another, and shows nobody another's interval", async () => {
  const { http } = await serve({
    tools: (tasks) =>
      tasks.tool("endless", { pollIntervalMs: 3_600_000 }, async (_args, task) => {
        await new Promise((resolve) => task.signal.addEventListener("abort", resolve));
        return text("stopped");
      }),
    http: { authenticate },
    options: { rates: { pollsPerInterval: 2 }, pollIntervalMs: 60_000 },
  });
  const peer = new StatelessClient(http.url);
  const taskId = await peer.start("endless", {}, as("alice"));
  await peer.get(taskId, as("alice"));
  const retryAfter = async (guess: string): Promise<number> => {
    for (let i = 0; i < 2; i += 1) {
      expect(await peer.send("tasks/get", { taskId: guess }, as("bob"))).toMatchObject({
        error: { code: -32602 },
      });
    }
    const refused = await peer.send("tasks/get", { taskId: guess }, as("bob"));
    expect(refused.status).toBe(429);
    return Number(refused.headers.get("Retry-After"));
  };
  expect(await retryAfter(taskId)).toBeLessThanOrEqual(60);
  expect(await retryAfter("no-such-task")).toBeLessThanOrEqual(60);
  await peer.get(taskId, as("alice"));
});

it("stops lookups of who guesses, whatever it guesses with", async () => {
  const { http } = await limited();
  const peer = new StatelessClient(http.url);
  const guess = { taskId: "no-such-task" };
  expect(await peer.send("tasks/get", guess, as("eve"))).toMatchObject({ error: { code: -32602 } });
  expect(await peer.send("tasks/cancel", guess, as("eve"))).toMatchObject({ error: { code: -32602 } });
  expect(await peer.send("tasks/get", guess, as("eve"))).toMatchObject({ status: 429 });
  expect(await peer.send("tasks/get", guess, as("bob"))).toMatchObject({ error: { code: -32602 } });
});

it("answers for the caller's own tasks, however often it guessed", async () => {
  const { http } = await limited();
  const peer = new StatelessClient(http.url);
  const session = await SessionClient.open(http.url, as("alice"));
  const taskId = await peer.start("endless", {}, as("alice"));
  const created = await session.request("tools/call", { name: "endless", task: {} });
  const core = (created["result"] as { task: { taskId: string } }).task.taskId;
  const listen = (...taskIds: string[]): Promise<Response> =>
    listenTo(http.url, { taskIds }, { headers: as("alice").headers });
  await (await listen("gone-1", "gone-2", "gone-3")).body?.cancel();
  for (const guess of ["gone", core.replace(/.$/, "-")]) {
    expect((await peer.send("tasks/get", { taskId: guess }, as("alice"))).status).toBe(429);
  }
  expect((await listen(taskId, "gone")).status).toBe(429);
  const heard = await listen(taskId);
  expect(heard.status).toBe(200);
  await heard.body?.cancel();
  await peer.get(taskId, as("alice"));
  await peer.result("tasks/update", { taskId, inputResponses: {} }, as("alice"));
  await peer.result("tasks/cancel", { taskId }, as("alice"));
  expect(await session.request("tasks/get", { taskId: core })).toMatchObject({ result: { taskId: core } });
  expect(await session.request("tasks/cancel", { taskId: core })).toMatchObject({ result: { taskId: core } });
});

it("limits lookups by polling tools too, but not those of the caller's own calls", async () => {
  const pollingTools = { answer: "task_answer" };
  const options = { plainDeadlineMs: 20, pollingTools, rates: { missesPerMinute: 2 } } as const;
  const { http } = await serve({ tools, http: { authenticate }, options });
  const peer = new StatelessClient(http.url);
  const guess = (name: string, who: string): Promise<WireResponse> =>
    peer.call(name, { reference: "K7QM-2XWD", answer: {} }, { capabilities: {}, ...as(who) });
  const plain = { capabilities: {}, ...as("eve") };
  const { reference } = ticketOf((await peer.call("endless", {}, plain)).result);
  const look = { reference: "K7QM-2XWD" };
  for (let i = 0; i < 2; i += 1) {
    const { result } = await peer.call("task_result", look, { capabilities: {}, ...as("eve") });
    expect(result).toMatchObject({ isError: true });
  }
  for (const name of ["task_result", "task_cancel", "task_answer"]) {
    expect(await guess(name, "eve")).toMatchObject({ status: 429, error: { code: -32000 } });
    expect((await guess(name, "bob")).status).toBe(200);
  }
  expect((await peer.call("task_result", { reference }, plain)).result).not.toHaveProperty("isError");
  expect((await peer.call("task_cancel", { reference }, plain)).result).not.toHaveProperty("isError");
});

it("does the same on a session of an earlier revision", async () => {
  const { http } = await limited();
  const peer = await SessionClient.open(http.url, as("alice"));
  const call = (id: number): Promise<Response> =>
    peer.post({ id, method: "tools/call", params: { name: "add", arguments: {}, task: {} } });
  expect((await call(1)).status).toBe(200);
  expect((await call(2)).status).toBe(200);
  const refused = await call(3);
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get("Retry-After"))).toBeGreaterThan(0);
  expect(await refused.json()).toMatchObject({ id: 3, error: { code: -32000 } });
  expect((await peer.post({ id: 4, method: "tasks/list" })).status).toBe(200);
  expect((await peer.post({ id: 5, method: "tasks/list" })).status).toBe(429);
});

it("does the same on a pipe, in the order in which requests came", async () => {
  const tasks = createTasks({ store: memoryStore(), stopDeadlineMs: 100, rates });
  tools(tasks);
  const stdin = new PassThrough();
  const stdout = new PassThrough();
  const stdio = await serveStdio(
    tasks.server(() => new McpServer({ name: "reports", version: "1.2.3" })),
    { stdin, stdout },
  );
  onTestFinished(() => stdio.close());
  const pipe = new StdioClient(stdin, stdout);
  const call = { name: "add", arguments: {} };
  expect(await pipe.request("tools/call", call)).toMatchObject({ resultType: "task" });
  expect(await pipe.request("tools/call", call)).toMatchObject({ resultType: "task" });
  const refused = await pipe.request("tools/call", call);
  expect(refused).toMatchObject({ code: -32000, data: { retryAfterMs: expect.any(Number) as unknown } });
});
