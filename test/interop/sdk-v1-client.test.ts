import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CallToolResultSchema, McpError } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { text } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";
import {
  ended,
  peers,
  relatedTo,
  result,
  sdkV1Over,
  start,
  streamed,
  textOf,
  ways,
  type Peers,
  type SdkV1,
} from "./sdk-v1-client.ts";

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "holdfast-sdk-v1-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

describe.each(ways)("SDK v1's client over %s", { timeout: 60_000 }, (way) => {
  let both: Peers;
  let sdk: SdkV1;
  beforeAll(async () => {
    both = await peers(way);
    ({ sdk } = both);
    await sdk.client.listTools(); // it knows from here which tools are tasks
  });
  afterAll(() => both[Symbol.asyncDispose]());

  it("reads what each tool makes of tasks [C-013]", async () => {
    const { tools } = await sdk.client.listTools();
    const support = Object.fromEntries(tools.map(({ name, execution }) => [name, execution?.taskSupport]));
    expect(support).toMatchObject({
      greet: "forbidden",
      add: "optional",
      failing_job: "required",
      test_tool_with_task: "required",
    });
    expect(sdk.client.getServerCapabilities()?.tasks).toEqual({
      list: {},
      cancel: {},
      requests: { tools: { call: {} } },
    });
  });

  it("creates a task, gets it, and its result as often as it likes [C-022 C-047 C-048 C-049 C-058 C-059 C-063]", async () => {
    const task = await start(sdk, "slow_compute", { seconds: 1, label: "tide" }, 60_000);
    expect(task).toMatchObject({ status: "working", ttl: 60_000, pollInterval: 200 });
    const { tasks } = sdk.client.experimental;
    expect(await tasks.getTask(task.taskId)).toMatchObject({
      taskId: task.taskId,
      ttl: 60_000,
      status: "working",
    });
    const waits = await Promise.all([result(sdk, task.taskId), result(sdk, task.taskId)]);
    const expected = { ...textOf("tide: computed for 1 s"), _meta: relatedTo(task.taskId) };
    expect([...waits, await result(sdk, task.taskId)]).toEqual([expected, expected, expected]);
    expect(await tasks.getTask(task.taskId)).toMatchObject({ status: "completed" });
  });

  it.each([
    ["add", { a: 2, b: 3 }, "5"],
    ["slow_compute", { seconds: 0, label: "none" }, "none: computed for 0 s"],
    ["progress_to", { total: 2, delayMs: 0 }, "counted to 2"],
    ["ignores_cancel", { ms: 1 }, "worked for 1 ms"],
  ])("calls %s as a task, by stream, and plainly, to the same end [C-060]", async (name, args, expected) => {
    const { taskId } = await start(sdk, name, args);
    expect(await result(sdk, taskId)).toMatchObject(textOf(expected));
    const [kinds, end] = await streamed(sdk, name, args);
    expect(kinds[0]).toBe("taskCreated");
    expect(kinds.slice(-2)).toEqual(["completed", "result"]);
    expect(end).toMatchObject(textOf(expected));
    expect(await sdk.client.callTool({ name, arguments: args })).toEqual(textOf(expected));
  });

  it("gets six mebibytes", async () => {
    const bytes = 6 * 1024 * 1024;
    const { taskId } = await start(sdk, "big_result", { bytes });
    const { content } = await result(sdk, taskId);
    expect(JSON.stringify(content).length).toBeGreaterThan(bytes);
    expect((await ended(sdk, taskId)).status).toBe("completed");
  });

  it("writes a line in each step, and one without", async () => {
    const path = await folder();
    const lines = join(path, "lines");
    const { taskId } = await start(sdk, "append_lines", { path: lines, count: 3, delayMs: 0 });
    expect(await result(sdk, taskId)).toMatchObject(textOf("done 3"));
    expect(await readFile(lines, "utf8")).toMatch(/^1 (\d+)\n2 \1\n3 \1\n$/);
    const once = join(path, "once");
    const single = await start(sdk, "not_idempotent", { path: once, delayMs: 0 });
    expect(await result(sdk, single.taskId)).toMatchObject(textOf("appended once"));
    expect((await readFile(once, "utf8")).split("\n")).toHaveLength(2);
  });

  it("sees a result with isError as failed, and gets it [C-062 C-116 C-117]", async () => {
    const [kinds, end] = await streamed(sdk, "failing_job");
    expect(kinds).toEqual(["taskCreated", "working", "failed", "error"]);
    expect(end).toBeInstanceOf(McpError);
    const { taskId } = await start(sdk, "failing_job");
    expect(await result(sdk, taskId)).toMatchObject({
      isError: true,
      ...textOf("The job failed, as it always does."),
    });
    expect(await sdk.client.experimental.tasks.getTask(taskId)).toMatchObject({
      status: "failed",
      statusMessage: "The job failed, as it always does.",
    });
  });

  it("gets the very error of a call that failed with one [C-061]", async () => {
    const error = {
      code: 4001,
      data: { fixture: true },
      message: expect.stringContaining("deliberate failure") as unknown,
    };
    const { taskId } = await start(sdk, "protocol_error_job");
    await expect(result(sdk, taskId)).rejects.toMatchObject(error);
    await expect(sdk.client.callTool({ name: "protocol_error_job" })).rejects.toMatchObject(error);
    expect(await sdk.client.experimental.tasks.getTask(taskId)).toMatchObject({ status: "failed" });
  });

  it("hears progress after the task was created, upwards, and none after its end [C-106 C-107 B-130 B-132 B-139]", async () => {
    const heard: number[] = [];
    const params = { name: "progress_to", arguments: { total: 5, delayMs: 100 } };
    const options = {
      task: {},
      onprogress: ({ progress }: { progress: number }) => void heard.push(progress),
    };
    const stream = sdk.client.experimental.tasks.callToolStream(params, CallToolResultSchema, options);
    for await (const { type } of stream) if (type === "taskCreated") heard.length = 0;
    expect(heard.length).toBeGreaterThan(1);
    expect(heard).toEqual(heard.toSorted((a, b) => a - b));
    expect(heard.at(-1)).toBeLessThanOrEqual(5);
  });

  it("lists tasks in pages, the newest first, as tasks/get shows them [C-071 C-072 C-073 C-075]", async () => {
    const ids: string[] = [];
    for (let n = 0; n < 60; n++) ids.push((await start(sdk, "add", { a: n, b: 0 })).taskId);
    await Promise.all(ids.map((id) => result(sdk, id)));
    const { tasks } = sdk.client.experimental;
    const first = await tasks.listTasks();
    const second = await tasks.listTasks(first.nextCursor);
    const listed = [...first.tasks, ...second.tasks].slice(0, 60);
    // Ids tell the order; of one millisecond any will do.
    expect(listed.map(({ taskId }) => taskId)).toEqual(ids.toSorted().toReversed());
    expect(first.tasks).toHaveLength(50);
    // In a list, this client leaves out what a task's schema does not name.
    const _meta = { "holdfast/tool": "add" };
    expect(await ended(sdk, first.tasks[0]?.taskId ?? "")).toEqual({ ...first.tasks[0], _meta });
    await expect(tasks.listTasks("garbage")).rejects.toMatchObject({ code: -32602 });
  });

  it("cancels while a tasks/result waits, at once and for good [C-077 C-078 C-079 C-080 C-111 A-10]", async () => {
    const { tasks } = sdk.client.experimental;
    const { taskId } = await start(sdk, "never_ends");
    const waiting = result(sdk, taskId).catch((error: unknown) => error);
    await tasks.getTask(taskId);
    expect(await tasks.cancelTask(taskId)).toMatchObject({ taskId, status: "cancelled" });
    expect(await waiting).toMatchObject({
      code: -32602,
      message: expect.stringContaining("cancelled") as unknown,
    });
    await expect(tasks.cancelTask(taskId)).rejects.toMatchObject({ code: -32602 });
    expect(await tasks.getTask(taskId)).toMatchObject({ status: "cancelled" });
  });

  it("drops what a tool returns after its cancel [C-081 C-045]", async () => {
    const { tasks } = sdk.client.experimental;
    const { taskId } = await start(sdk, "ignores_cancel", { ms: 300 });
    expect(await tasks.cancelTask(taskId)).toMatchObject({ status: "cancelled" });
    const { taskId: later } = await start(sdk, "slow_compute", { seconds: 1, label: "later" });
    await result(sdk, later);
    expect(await tasks.getTask(taskId)).toMatchObject({ status: "cancelled" });
    await expect(result(sdk, taskId)).rejects.toMatchObject({ code: -32602 });
  });

  it.each([
    ["a required tool without a task", "failing_job", false, -32601],
    ["a forbidden tool with one", "greet", true, -32601],
  ])("is refused %s [C-016 C-019]", async (_case, name, asTask, code) => {
    const params = { name, arguments: { name: "Ada" }, ...(asTask ? { task: {} } : {}) };
    // Past its own check of required tools.
    const call = sdk.client.request({ method: "tools/call", params }, CallToolResultSchema);
    await expect(call).rejects.toMatchObject({ code });
  });

  it("is told that a task is unknown [C-109 C-114]", async () => {
    const { tasks } = sdk.client.experimental;
    const unknown = { code: -32602, message: expect.stringMatching(/unknown/i) as unknown };
    await expect(tasks.getTask("none")).rejects.toMatchObject(unknown);
    await expect(tasks.cancelTask("none")).rejects.toMatchObject(unknown);
    await expect(result(sdk, "none")).rejects.toMatchObject(unknown);
  });

  it("is told of the end of each task, as tasks/get shows it [C-065 C-066]", async () => {
    const { taskId } = await start(sdk, "slow_compute", { seconds: 1, label: "told" });
    const task = await ended(sdk, taskId);
    await vi.waitUntil(
      () => sdk.told.some((told) => told.taskId === taskId && told.status === "completed"),
      10_000,
    );
    expect(sdk.told.findLast((told) => told.taskId === taskId)).toEqual(task);
  });
});

it("is refused with -32600 where all calls have to ask for a task [C-029 C-113 A-07]", async () => {
  const { http } = await serve({
    tools: (tasks) => tasks.tool("bare", {}, () => text("bare")),
    options: { requireTasks: true },
    http: { anonymous: "shared" },
  });
  const sdk = await sdkV1Over(http.url);
  onTestFinished(() => sdk.client.close());
  await expect(sdk.client.callTool({ name: "bare" })).rejects.toMatchObject({ code: -32600 });
  const { taskId } = await start(sdk, "bare");
  expect(await result(sdk, taskId)).toMatchObject(textOf("bare"));
});
