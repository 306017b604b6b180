import {
  CancelTaskResultSchema,
  CreateTaskResultSchema,
  GetTaskResultSchema,
  ListTasksResultSchema,
  TaskStatusNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import type { Tasks } from "holdfast";
import { expect, it } from "vitest";
import { text, unstamped } from "../../kit/messages.ts";
import { InMemorySession } from "../../kit/in-memory-session.ts";
import { serve, startServer } from "../../kit/server.ts";
import { SessionClient } from "../../kit/session-client.ts";
import { StatelessClient } from "../../kit/stateless-client.ts";

function tools(tasks: Tasks): void {
  tasks.tool("sleeps", {}, async (_args, task) => {
    await task.status("lying down");
    await task.sleep("long", 3_600_000);
    return text("slept");
  });
  tasks.tool("add", {}, () => text("3"));
}

it("shows a task whole and alike wherever it shows one [C-037 C-038 C-047 C-048 C-049]", async () => {
  const { server } = await startServer(tools, { pollIntervalMs: 250, requestedTtl: "task" });
  const session = await InMemorySession.open(server);
  const created = CreateTaskResultSchema.parse(
    await session.result(session.call("sleeps", {}, { task: { ttl: 7_200_000 } })),
  );
  const { taskId, createdAt } = created.task;
  const told = TaskStatusNotificationSchema.parse(await session.asked("notifications/tasks/status"));
  const got = GetTaskResultSchema.parse(await session.request("tasks/get", { taskId }));
  const { tasks } = ListTasksResultSchema.parse(await session.request("tasks/list"));
  const cancelled = CancelTaskResultSchema.parse(await session.request("tasks/cancel", { taskId }));
  const whole = {
    taskId,
    createdAt,
    lastUpdatedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as unknown,
    ttl: 7_200_000,
    pollInterval: 250,
  };
  const shown = [created.task, told.params, got, ...tasks, cancelled];
  expect(shown).toHaveLength(5);
  for (const task of shown) expect(task).toMatchObject(whole);
  expect(told.params).toEqual(got);
  // What the parser leaves out of a task in another object.
  const { _meta, ...flat } = got;
  expect(tasks).toEqual([flat]);
  expect(_meta).toEqual({ "holdfast/tool": "sleeps" });
});

it("makes a task of nothing that does not ask for one, and of no tool that is none [C-002]", async () => {
  const { server } = await startServer((tasks) => {
    tools(tasks);
    tasks.tool("never", { task: "forbidden" }, () => text("directly"));
  });
  const session = await InMemorySession.open(server);
  for (const name of ["add", "never"]) {
    expect(await session.result(session.call(name))).not.toHaveProperty("task");
  }
  expect(await session.error("tools/call", { name: "never", task: {} })).toMatchObject({ code: -32601 });
  expect(await session.request("tasks/list")).toEqual({ tasks: [] });
});

it("has no core tasks under 2026-07-28 [C-P-004 A-35]", async () => {
  const { http } = await serve({ tools, http: { anonymous: "shared" } });
  const peer = new StatelessClient(http.url);
  for (const method of ["tasks/result", "tasks/list"]) {
    expect((await peer.send(method, { taskId: "x" })).error).toMatchObject({ code: -32601 });
  }
  const { capabilities } = (await peer.result("server/discover")) as { capabilities: object };
  expect(capabilities).not.toHaveProperty("tasks");
  // Nor does params.task make one of a call that could become one by the extension alone.
  const plain = await peer.result("tools/call", { name: "add", task: {} }, { capabilities: {} });
  expect(unstamped(plain)).toEqual({ ...text("3"), resultType: "complete" });
  const { tools: listed } = (await peer.result("tools/list")) as { tools: object[] };
  expect(JSON.stringify(listed)).not.toContain("taskSupport");
});

it("serves the tasks of either generation on one endpoint, each to its own clients [X-P-015 A-35]", async () => {
  const { http } = await serve({ tools, http: { anonymous: "shared" } });
  const older = await SessionClient.open(http.url);
  const newer = new StatelessClient(http.url);
  const { result } = await older.request("tools/call", { name: "sleeps", arguments: {}, task: {} });
  const { taskId } = (result as { task: { taskId: string } }).task;
  const newerId = await newer.start("sleeps");
  for (const method of ["tasks/get", "tasks/cancel"]) {
    expect((await newer.send(method, { taskId })).error).toMatchObject({ code: -32602 });
    expect(await older.request(method, { taskId: newerId })).toMatchObject({ error: { code: -32602 } });
  }
  expect(await older.request("tasks/get", { taskId })).toMatchObject({ result: { status: "working" } });
  expect(await older.request("tasks/cancel", { taskId })).toMatchObject({ result: { status: "cancelled" } });
  expect(await newer.get(newerId)).toMatchObject({ status: "working" });
  expect(await older.request("tasks/list")).toMatchObject({ result: { tasks: [{ taskId }] } });
});
