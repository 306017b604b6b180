import { ProtocolError } from "@modelcontextprotocol/server";
import type { Tasks } from "holdfast";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { createdMethod, withTask } from "../../../src/generation/sep-1686.ts";
import { text } from "../../kit/messages.ts";
import { InMemorySession } from "../../kit/in-memory-session.ts";
import { startServer } from "../../kit/server.ts";
import { about, callAs, created, related, start, until } from "./sep.ts";

const invalid = (message: string): object => ({ code: -32602, message });

function tools(tasks: Tasks): void {
  tasks.tool("add", { inputSchema: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) =>
    text(String(a + b)),
  );
  tasks.tool("required", { task: "required" }, () => text("done"));
  tasks.tool("greet", { task: "forbidden" }, () => text("hello"));
  tasks.tool("refuse", {}, () => ({ ...text("no paper"), isError: true }));
  tasks.tool("break", {}, () => {
    throw new ProtocolError(4001, "printer on fire", { tray: 2 });
  });
  tasks.tool("crash", {}, () => {
    throw new Error("out of toner");
  });
  tasks.tool("busy", {}, async (_, task) => {
    await task.status("half of it");
    await task.log("info", "a line");
    await task.output("a part");
    task.progress(1, 2);
    await task.call("added", "add", { a: 1, b: 2 });
    task.progress(2, 2);
    return text("done");
  });
  tasks.tool("wait", {}, async (_, { signal }) => {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return text("never");
  });
}

const set = { pollIntervalMs: 1500, rates: { pollsPerInterval: null, maxLoopDelayMs: null } };

describe.each(["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])("on %s", (version) => {
  it("makes a task of a call, says so first, and answers the call all the same [S-005 S-011 S-012 S-013 S-015 S-040]", async () => {
    const { server, errors } = await startServer(tools, set);
    const session = await InMemorySession.open(server, { version });
    const request = callAs(session, { taskId: "mine", keepAliveMs: 60_000 }, "add", {
      a: 1,
      b: 2,
    });
    const note = await created(session, "mine");
    expect(note).toEqual({ jsonrpc: "2.0", method: createdMethod, params: { _meta: related("mine") } });
    expect(session.sentOn.size).toBeGreaterThan(0);
    const early = await session.request("tasks/get", about("mine"));
    expect(early).toMatchObject({ taskId: "mine", keepAlive: 60_000, pollFrequency: 1500 });
    const answer = await session.result(request);
    expect(answer).toEqual({ ...text("3"), _meta: related("mine") });
    const order = session.seen.map(({ method, id }) => method ?? id);
    expect(order.indexOf(createdMethod)).toBeLessThan(order.indexOf(request));
    expect(await session.request("tasks/get", about("mine"))).toEqual({
      taskId: "mine",
      status: "completed",
      keepAlive: 60_000,
      pollFrequency: 1500,
      _meta: { ...related("mine"), "holdfast/tool": "add" },
    });
    for (let i = 0; i < 2; i += 1) {
      expect(await session.request("tasks/result", about("mine"))).toEqual(answer);
    }
    expect(errors).toEqual([]);
  });
});

it("is the same without the metadata, and then no task [S-005 S-014]", async () => {
  const { server } = await startServer(tools);
  const session = await InMemorySession.open(server);
  expect(await session.result(session.call("add", { a: 1, b: 2 }))).toEqual(text("3"));
  expect(session.requests(createdMethod)).toEqual([]);
  expect(await session.error("tasks/get", about("mine"))).toEqual(invalid("Unknown or expired task"));
});

it("leaves a tool alone that runs as no task, and one of the author's own [S-009 S-010 S-014]", async () => {
  const { server } = await startServer(tools, {}, (mcp) => {
    mcp.registerTool("own", {}, () => text("own"));
  });
  const session = await InMemorySession.open(server);
  for (const taskId of ["a", 7, ""]) {
    const params = { _meta: { "modelcontextprotocol.io/task": { taskId } } };
    expect(await session.result(session.call("greet", {}, params))).toEqual(text("hello"));
    expect(await session.result(session.call("own", {}, params))).toEqual(text("own"));
  }
  expect(session.requests(createdMethod)).toEqual([]);
});

it("runs a tool that is a task only, with the metadata [S-002]", async () => {
  const { server } = await startServer(tools, { requireTasks: true });
  const session = await InMemorySession.open(server);
  expect(await session.result(callAs(session, { taskId: "a" }, "required"))).toMatchObject(text("done"));
  expect(await session.result(callAs(session, { taskId: "b" }, "add", { a: 1, b: 1 }))).toMatchObject(
    text("2"),
  );
  expect(await session.error("tools/call", { name: "required" })).toMatchObject({ code: -32601 });
});

it.each([{}, { taskId: 7 }, { taskId: null }, { taskId: "a", keepAlive: -1 }, "a"])(
  "refuses the metadata %j [S-020]",
  async (task) => {
    const { server } = await startServer(tools);
    const session = await InMemorySession.open(server);
    const params = {
      name: "add",
      arguments: { a: 1, b: 2 },
      _meta: { "modelcontextprotocol.io/task": task },
    };
    expect(await session.error("tools/call", params)).toMatchObject({ code: -32602 });
    expect(session.requests(createdMethod)).toEqual([]);
  },
);

it("refuses an id that is in use, whatever became of its task [S-022 S-077 S-080 A-19]", async () => {
  const { server } = await startServer(tools);
  const session = await InMemorySession.open(server);
  await start(session, "mine", "wait");
  const again = (): Promise<unknown> =>
    session.answerTo(callAs(session, { taskId: "mine" }, "add", { a: 1, b: 2 })).then(({ error }) => error);
  expect(await again()).toEqual(invalid("Task id is already in use"));
  await session.result(callAs(session, { taskId: "done" }, "add", { a: 1, b: 2 }));
  expect(session.requests(createdMethod)).toHaveLength(2);
  const done = await session.answerTo(callAs(session, { taskId: "done" }, "add", { a: 1, b: 2 }));
  expect(done["error"]).toEqual(invalid("Task id is already in use"));
});

it("answers arguments that do not fit as ever, with no task and its id still free [S-005 S-014]", async () => {
  const { server } = await startServer(tools);
  const session = await InMemorySession.open(server);
  const wrong = await session.result(callAs(session, { taskId: "mine" }, "add", { a: "1" }));
  expect(wrong).toMatchObject({ isError: true });
  expect(session.requests(createdMethod)).toEqual([]);
  expect(await session.result(callAs(session, { taskId: "mine" }, "add", { a: 1, b: 2 }))).toMatchObject(
    text("3"),
  );
});

it("completes with a result that is an error [S-084 A-09]", async () => {
  const { server } = await startServer(tools);
  const session = await InMemorySession.open(server);
  for (const [tool, said] of [
    ["refuse", "no paper"],
    ["crash", "out of toner"],
  ] as const) {
    const answer = await session.result(callAs(session, { taskId: tool }, tool));
    expect(answer).toEqual({ ...text(said), isError: true, _meta: related(tool) });
    expect(await until(session, tool)).toMatchObject({ status: "completed" });
    expect(await session.request("tasks/result", about(tool))).toEqual(answer);
  }
});

it("fails with the error of the request, which tasks/get tells [S-032 S-033 S-082 S-083 A-04]", async () => {
  const { server } = await startServer(tools);
  const session = await InMemorySession.open(server);
  const { error } = await session.answerTo(callAs(session, { taskId: "mine" }, "break"));
  expect(error).toEqual({ code: 4001, message: "printer on fire", data: { tray: 2 } });
  expect(await session.request("tasks/get", about("mine"))).toMatchObject({
    status: "failed",
    error: "printer on fire",
  });
  expect(await session.error("tasks/result", about("mine"))).toEqual(
    invalid('No result: the task is in status "failed"'),
  );
});

it("gives no result of a task that is not completed, and does not wait for one [S-041 S-042 S-078]", async () => {
  const { server } = await startServer(tools);
  const session = await InMemorySession.open(server);
  await start(session, "mine", "wait");
  await until(session, "mine", "working");
  expect(await session.error("tasks/result", about("mine"))).toEqual(
    invalid('No result: the task is in status "working"'),
  );
});

it("is submitted while all handlers are taken [S-026 S-027]", async () => {
  const { server } = await startServer(tools, { concurrency: 1 });
  const session = await InMemorySession.open(server);
  await start(session, "first", "wait");
  await until(session, "first", "working");
  await start(session, "second", "add", { a: 1, b: 2 });
  expect(await session.request("tasks/get", about("second"))).toMatchObject({ status: "submitted" });
  expect(await session.error("tasks/result", about("second"))).toEqual(
    invalid('No result: the task is in status "submitted"'),
  );
});

it("needs no related-task to be found where the id is its own [A-20 A-46]", async () => {
  const { server } = await startServer(tools);
  const session = await InMemorySession.open(server);
  await session.result(callAs(session, { taskId: "mine" }, "add", { a: 1, b: 2 }));
  expect(await session.request("tasks/get", { taskId: "mine" })).toMatchObject({ status: "completed" });
  expect(await session.request("tasks/result", { taskId: "mine" })).toMatchObject(text("3"));
});

it("is unknown where it is, to get, result and delete [S-075 A-18]", async () => {
  const { server } = await startServer(tools);
  const session = await InMemorySession.open(server);
  for (const method of ["tasks/get", "tasks/result", "tasks/delete"]) {
    expect(await session.error(method, about("nowhere"))).toEqual(invalid("Unknown or expired task"));
    expect(await session.error(method, { _meta: related("x") })).toMatchObject({ code: -32602 });
  }
});

it("is an internal error where the store fails, which tells nothing [S-079]", async () => {
  const { memoryStore } = await import("holdfast/memory");
  const store = memoryStore();
  const { server, errors } = await startServer(tools, { store });
  const session = await InMemorySession.open(server);
  store.find = () => Promise.reject(new Error("disk on fire"));
  expect(await session.error("tasks/get", about("mine"))).toEqual({
    code: -32603,
    message: "Internal error",
  });
  expect(errors).toHaveLength(1);
});

it("tells of a task by its creation, its progress and its response, and of nothing that the proposal leaves for later [S-099 S-100]", async () => {
  const { server } = await startServer(tools, set);
  const session = await InMemorySession.open(server, { version: "2025-06-18" });
  const params = withTask({ name: "busy", arguments: {}, _meta: { progressToken: "p" } }, { taskId: "mine" });
  const answer = await session.answerTo(session.begin("tools/call", params));
  expect(answer).toMatchObject({ result: { ...text("done"), _meta: related("mine") } });
  await until(session, "mine", "completed");
  const told = session.seen.filter(({ method }) => method !== undefined);
  expect(new Set(told.map(({ method }) => method))).toEqual(
    new Set([createdMethod, "notifications/progress"]),
  );
  for (const { params: said } of told) expect(said).toMatchObject({ _meta: related("mine") });
  expect(
    session.seen.slice(session.seen.indexOf(answer) + 1).filter(({ method }) => method !== undefined),
  ).toEqual([]);
});
