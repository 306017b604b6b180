import type { McpServer } from "@modelcontextprotocol/server";
import { HoldfastError, type Tasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import type { CommandResult, TaskCommand, TaskStore } from "holdfast/store";
import { expect, it } from "vitest";
import * as z from "zod";
import { tasksExtension, text, withoutTasks } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { listenTo } from "../kit/subscription.ts";

function tools(tasks: Tasks): void {
  tasks.tool("shout", { inputSchema: z.object({ word: z.string() }) }, ({ word }) => text(word));
  tasks.tool("asks", {}, async (_, task) =>
    text(
      (await task.elicit("size", { message: "Size?", requestedSchema: { type: "object", properties: {} } }))
        .action,
    ),
  );
}

/** What the server writes by itself goes on. */
function refuseCreates(store: TaskStore, fault: Error): void {
  const write = store.write.bind(store) as (command: TaskCommand) => Promise<CommandResult>;
  const refusing = (command: TaskCommand): Promise<CommandResult> =>
    command.type === "create" ? Promise.reject(fault) : write(command);
  store.write = refusing as typeof store.write;
}

const methods = ["tasks/get", "tasks/update", "tasks/cancel"] as const;

it.each(methods)(
  "%s of an unknown task is an invalid parameter [X-062 X-078 X-093 X-096]",
  async (method) => {
    const peer = await StatelessClient.of({ tools });
    const { error } = await peer.send(method, { taskId: "no-such-task", inputResponses: {} });
    expect(error).toEqual({ code: -32602, message: "Unknown or expired task" });
  },
);

it.each(methods)("%s without a task id says what is missing [X-096 A-29]", async (method) => {
  const peer = await StatelessClient.of({ tools });
  for (const params of [{}, { taskId: "" }]) {
    const { error } = await peer.send(method, params, { headers: { "Mcp-Name": "" } });
    expect([error?.code, error?.message]).toEqual([-32602, expect.stringContaining("params.taskId")]);
  }
});

it("refuses answers that are no object, before it looks for the task [A-29]", async () => {
  const peer = await StatelessClient.of({ tools });
  for (const inputResponses of [undefined, [], "a", 7, null]) {
    const { error } = await peer.send("tasks/update", { taskId: "no-such-task", inputResponses });
    expect(error?.message).toContain("params.inputResponses");
    expect(error?.code).toBe(-32602);
  }
});

it.each(["tasks/list", "tasks/result", "tasks/delete"])(
  "%s does not exist [X-105 X-P-011 X-B-021]",
  async (method) => {
    const peer = await StatelessClient.of({ tools });
    const { status, error } = await peer.send(method, { taskId: "a" });
    expect([status, error?.code]).toEqual([404, -32601]);
  },
);

it.each(["tools/call", "subscriptions/listen", ...methods])(
  "%s is refused with headers that differ from it or are missing, and does nothing [X-B-019]",
  async (method) => {
    const peer = await StatelessClient.of({ tools });
    const taskId = await peer.start("asks");
    const before = await peer.until(taskId, "input_required");
    const params = {
      "tools/call": { name: "shout", arguments: { word: "a" } },
      "subscriptions/listen": { notifications: { taskIds: [taskId] } },
    }[method] ?? { taskId, inputResponses: { size: { action: "decline" } } };
    const listens = method === "subscriptions/listen";
    for (const [name, others] of [
      ["Mcp-Method", ["tasks/list", "subscriptions/listen", "TASKS/GET"]],
      ["MCP-Protocol-Version", ["2025-11-25"]],
      ["Mcp-Name", ["another", taskId.toUpperCase()]],
    ] as const) {
      if (listens && name === "Mcp-Name") continue; // it names nothing
      for (const value of [undefined, ...others]) {
        if (value === method) continue;
        const { status, error } = await peer.send(method, params, { headers: { [name]: value } });
        expect([name, value, status, error?.code]).toEqual([name, value, 400, -32020]);
      }
    }
    expect(await peer.get(taskId)).toEqual(before);
  },
);

it("compares a name that is no ASCII after decoding it [X-B-020]", async () => {
  const peer = await StatelessClient.of({ tools });
  const header = `=?base64?${Buffer.from("größe").toString("base64")}?=`;
  const { status, error } = await peer.send(
    "tasks/get",
    { taskId: "größe" },
    { headers: { "Mcp-Name": header } },
  );
  expect([status, error?.code]).toEqual([200, -32602]); // an unknown task, and no header mismatch
});

it("refuses a request without its _meta fields [X-B-002 B-P-001]", async () => {
  const peer = await StatelessClient.of({ tools });
  for (const key of ["protocolVersion", "clientCapabilities"]) {
    const meta = { [`io.modelcontextprotocol/${key}`]: undefined };
    const { status, error } = await peer.call("shout", { word: "a" }, { meta });
    expect([status, error?.code]).toEqual([400, -32602]);
  }
});

it("refuses a version that it does not speak, and names those it does [X-B-004]", async () => {
  const peer = await StatelessClient.of({ tools });
  const { status, error } = await peer.call(
    "shout",
    {},
    {
      headers: { "MCP-Protocol-Version": "1900-01-01" },
      meta: { "io.modelcontextprotocol/protocolVersion": "1900-01-01" },
    },
  );
  expect([status, error?.code]).toEqual([400, -32022]);
  expect(error?.data).toEqual({ supported: ["2026-07-28"], requested: "1900-01-01" });
});

it("reports bad arguments as the SDK does, and makes no task [X-101]", async () => {
  const store = memoryStore();
  const peer = await StatelessClient.of({ tools, options: { store } });
  for (const args of [{ word: 7 }, {}, undefined]) {
    const declared = await peer.call("shout", args);
    expect(declared.result).toMatchObject({ resultType: "complete", isError: true });
    expect(JSON.stringify(declared.result)).toContain(
      "Input validation error: Invalid arguments for tool shout",
    );
    expect((await peer.call("shout", args, { capabilities: {} })).result).toEqual(declared.result);
  }
  expect(await store.unfinished("", 10)).toEqual([]);
  expect(await store.nextSweepAt(0)).toBeNull();
});

it("says no more than that it is an internal error when the store fails, and reports it [X-094]", async () => {
  const store = memoryStore();
  const { http, errors } = await serve({ tools, options: { store } });
  const peer = new StatelessClient(http.url);
  const fault = new Error("disk /secret/path is full");
  refuseCreates(store, fault);
  store.snapshot = () => Promise.reject(fault);
  const created = await peer.call("shout", { word: "a" });
  const got = await peer.send("tasks/get", { taskId: "a" });
  for (const { error } of [created, got]) expect(error).toEqual({ code: -32603, message: "Internal error" });
  expect(errors).toEqual([fault, fault]);
});

it.each([
  ["a call that is a task", "shout"],
  ["a direct run that has to become one", "late"],
])("says to %s that the store does not answer, and not why [X-094]", async (_what, tool) => {
  const store = memoryStore();
  const withLate = (tasks: Tasks): void => {
    tools(tasks);
    const config = { inputSchema: z.object({ word: z.string() }), promoteAfterMs: 60_000 };
    tasks.tool("late", config, async ({ word }, task) => text(await task.step("repeat", () => word)));
  };
  const { http, errors } = await serve({ tools: withLate, options: { store } });
  const fault = new HoldfastError("store_failed", "Nothing was written: process 7 holds /secret/tasks.db.");
  refuseCreates(store, fault);
  const { error } = await new StatelessClient(http.url).call(tool, { word: "a" });
  const message = "The task store is not answering. Try again later.";
  expect(error).toEqual({ code: -32603, message });
  expect(errors).toEqual([fault]);
});

it('answers under the id of the request, be it 1 or "1"', async () => {
  const peer = await StatelessClient.of({ tools });
  for (const id of [1, "1"]) {
    expect((await peer.call("shout", { word: "a" }, { id })).id).toBe(id);
    expect((await peer.send("tasks/get", { taskId: "x" }, { id })).id).toBe(id);
  }
});

it("answers with the first number of the missing-capability error if asked to [A-02 X-087 X-095 X-P-001 X-P-002]", async () => {
  const { http } = await serve({
    tools: (tasks) => tasks.tool("long", { task: "required" }, () => text("long")),
    options: { legacyErrorCodes: true },
  });
  const peer = new StatelessClient(http.url);
  const error = { code: -32003, data: { requiredCapabilities: { extensions: tasksExtension } } };
  const refused = { status: 400, error };
  const sending = { capabilities: withoutTasks };
  expect(await peer.send("tasks/get", { taskId: "a" }, sending)).toMatchObject(refused);
  expect(await peer.call("long", {}, sending)).toMatchObject(refused);
  const listening = await listenTo(http.url, { taskIds: [] }, sending);
  expect(listening.status).toBe(400);
  expect(await listening.json()).toMatchObject({ error });
  expect((await peer.call("long")).status).toBe(200);
});

it("refuses a server with a handler of its own under a reserved name [X-102]", async () => {
  const anything = {
    "~standard": { version: 1, vendor: "test", validate: (value: unknown) => ({ value }) },
  } as const;
  const server = (mcp: McpServer): void =>
    mcp.server.setRequestHandler("tasks/list", { params: anything }, () => ({}));
  const { errors, http } = await serve({ tools, server });
  expect((await new StatelessClient(http.url).send("tools/list")).error).toMatchObject({ code: -32603 });
  expect(errors).toMatchObject([
    { code: "configuration", message: expect.stringContaining("tasks/list") as unknown },
  ]);
});
