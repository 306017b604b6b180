import { CallToolResultSchema, ElicitRequestSchema, McpError } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { connectExample, connectHttp, haiku, resultText, start, streamed, transportNames } from "./client.ts";
import { serveSessions } from "./http.ts";
import { openDurable, storeNames } from "./stores.ts";
import { exampleServer } from "./tools.ts";

const places = storeNames.flatMap((store) => transportNames.map((transport) => ({ store, transport })));

describe.each(places)("SDK v1's examples on $store, $transport", ({ store, transport }) => {
  const connect = async () => connectExample(transport, await openDurable(store));

  it("creates a task, polls it, and returns its result repeatedly [B-029]", async () => {
    const client = await connect();
    const task = await start(client, "delay", { ms: 500 });
    expect(task).toMatchObject({ status: "working", ttl: 60_000 });
    const { tasks } = client.experimental;
    expect((await tasks.getTask(task.taskId)).status).toBe("working");
    expect(await resultText(client, task.taskId)).toBe("Completed 500ms delay");
    expect(await tasks.getTask(task.taskId)).toMatchObject({
      status: "completed",
      createdAt: task.createdAt,
    });
    const again = await tasks.getTaskResult(task.taskId, CallToolResultSchema);
    expect(await tasks.getTaskResult(task.taskId, CallToolResultSchema)).toEqual(again);
    expect(again["_meta"]).toEqual({ "io.modelcontextprotocol/related-task": { taskId: task.taskId } });
  });

  it("streams a call to its end", async () => {
    const client = await connect();
    const [kinds, text] = await streamed(client, "delay", { ms: 30 });
    expect(kinds.filter((kind) => kind !== "working")).toEqual(["taskCreated", "completed", "result"]);
    expect(text).toBe("Completed 30ms delay");
  });

  it("asks its client through the task's message queue", async () => {
    const client = await connect();
    const [kinds, deleted] = await streamed(client, "confirm_delete", { filename: "a.txt" });
    expect(kinds).toEqual(expect.arrayContaining(["taskCreated", "input_required", "result"]));
    expect(deleted).toBe("Deleted 'a.txt'");
    expect((await streamed(client, "write_haiku", { topic: "autumn" }))[1]).toBe(`Haiku:\n${haiku}`);
  });

  it("keeps a failure with its result", async () => {
    const client = await connect();
    const { taskId } = await start(client, "delay", { ms: 1, fails: true });
    expect(await client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema)).toMatchObject({
      isError: true,
      content: [{ text: "Error: no more time" }],
    });
    expect((await client.experimental.tasks.getTask(taskId)).status).toBe("failed");
    expect((await streamed(client, "delay", { ms: 1, fails: true }))[1]).toMatch(/failed$/);
  });

  it("cancels while somebody waits for the result, once", async () => {
    const client = await connect();
    const { taskId } = await start(client, "delay", { ms: 600_000 });
    const { tasks } = client.experimental;
    const waiting = tasks.getTaskResult(taskId, CallToolResultSchema).catch((error: unknown) => error);
    expect(await tasks.cancelTask(taskId)).toMatchObject({
      status: "cancelled",
      statusMessage: "Client cancelled task execution.",
    });
    expect(await waiting).toBeInstanceOf(McpError);
    expect((await tasks.getTask(taskId)).status).toBe("cancelled");
    await expect(tasks.cancelTask(taskId)).rejects.toMatchObject({ code: -32602 });
  });

  it("drops a question with the task that is cancelled", async () => {
    const client = await connect();
    const { taskId } = await start(client, "confirm_delete", { filename: "a.txt" });
    const { tasks } = client.experimental;
    await vi.waitFor(async () => expect((await tasks.getTask(taskId)).status).toBe("input_required"));
    await tasks.cancelTask(taskId);
    const asked: string[] = [];
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      asked.push(params.message);
      return { action: "cancel" };
    });
    await expect(tasks.getTaskResult(taskId, CallToolResultSchema)).rejects.toThrow("no result stored");
    expect(asked).toEqual([]);
  });

  it("lists all of them, page by page", async () => {
    const client = await connect();
    const created: string[] = [];
    for (let each = 0; each < 23; each++) created.push((await start(client, "delay", { ms: 1 })).taskId);
    const listed: string[] = [];
    const pages: number[] = [];
    for (let cursor: string | undefined; pages.length === 0 || cursor !== undefined;) {
      const page = await client.experimental.tasks.listTasks(cursor);
      listed.push(...page.tasks.map(({ taskId }) => taskId));
      pages.push(page.tasks.length);
      cursor = page.nextCursor;
    }
    expect(listed.toSorted()).toEqual(created.toSorted());
    expect(pages).toEqual([10, 10, 3]);
    await expect(client.experimental.tasks.listTasks("nonsense")).rejects.toMatchObject({ code: -32602 });
  });

  it("rejects an unknown task id", async () => {
    const client = await connect();
    const { tasks } = client.experimental;
    await expect(tasks.getTask("nothing")).rejects.toMatchObject({ code: -32602 });
    await expect(tasks.getTaskResult("nothing", CallToolResultSchema)).rejects.toMatchObject({
      code: -32602,
    });
    await expect(tasks.cancelTask("nothing")).rejects.toMatchObject({ code: -32602 });
  });
});

it.each(storeNames)("a session sees only its own tasks, on %s", async (name) => {
  const durable = await openDurable(name);
  const http = await serveSessions(() => exampleServer(durable));
  onTestFinished(() => http.close());
  const [one, two] = [await connectHttp(http.url), await connectHttp(http.url)];
  const { taskId } = await start(one, "delay", { ms: 1 });
  await resultText(one, taskId);
  const { tasks } = two.experimental;
  await expect(tasks.getTask(taskId)).rejects.toMatchObject({ code: -32602 });
  await expect(resultText(two, taskId)).rejects.toMatchObject({ code: -32602 });
  await expect(tasks.cancelTask(taskId)).rejects.toMatchObject({ code: -32602 });
  expect((await tasks.listTasks()).tasks).toEqual([]);
  expect((await one.experimental.tasks.listTasks()).tasks).toHaveLength(1);
});
