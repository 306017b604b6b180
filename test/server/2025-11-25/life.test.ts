import type { Tasks } from "holdfast";
import { ProtocolError } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import * as z from "zod";
import { related, text } from "../../kit/messages.ts";
import { InMemorySession } from "../../kit/in-memory-session.ts";
import { startServer } from "../../kit/server.ts";

const gate = (): PromiseWithResolvers<void> => Promise.withResolvers<void>();

function tools(hold = gate()): (tasks: Tasks) => void {
  return (tasks) => {
    tasks.tool("add", { inputSchema: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) =>
      text(String(a + b)),
    );
    tasks.tool("hold", { immediateResponse: "Under way." }, async () => {
      await hold.promise;
      return text("done");
    });
    tasks.tool("only", { task: "required" }, () => text("as a task"));
    tasks.tool("never", { task: "forbidden" }, () => text("directly"));
    tasks.tool("fails", {}, () => ({ ...text("no paper"), isError: true }));
    tasks.tool("breaks", {}, () => {
      throw new ProtocolError(4001, "deliberate", { fixture: true });
    });
    tasks.tool("endless", {}, async (_args, task) => {
      await new Promise((_, reject) =>
        task.signal.addEventListener("abort", () => reject(task.signal.reason as Error)),
      );
      return text("never");
    });
    tasks.tool("stubborn", {}, async () => {
      await hold.promise;
      return text("too late");
    });
  };
}

it("declares tasks and what each tool makes of them [C-004 C-005 C-012 C-013]", async () => {
  const { server } = await startServer(tools());
  const session = await InMemorySession.open(server);
  const { capabilities } = (session.seen[0]?.["result"] ?? {}) as { capabilities: object };
  expect(capabilities).toMatchObject({ tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } });
  const { tools: listed } = (await session.request("tools/list")) as {
    tools: { name: string; execution: object }[];
  };
  const support = Object.fromEntries(listed.map(({ name, execution }) => [name, execution]));
  expect(support).toMatchObject({
    add: { taskSupport: "optional" },
    only: { taskSupport: "required" },
    never: { taskSupport: "forbidden" },
  });
});

it("says that it recognises repeated calls, beside what its author declares [A-48]", async () => {
  const { server } = await startServer(tools(), {}, (mcp) =>
    mcp.server.registerCapabilities({ experimental: { own: { so: true } } }),
  );
  const experimental = { own: { so: true }, "holdfast/idempotencyKey": { keptMs: 24 * 3_600_000 } };
  const session = await InMemorySession.open(server);
  expect(session.seen[0]).toMatchObject({ result: { capabilities: { experimental } } });
  const older = await InMemorySession.open(server, { version: "2025-06-18" });
  const { result } = older.seen[0] as { result: { capabilities: { experimental: object } } };
  expect(result.capabilities.experimental).toEqual({ own: { so: true } });
});

it("declares no listing to callers that are not told apart [C-P-001 C-010 A-39]", async () => {
  const { server } = await startServer(tools());
  const session = await InMemorySession.open(server, { principal: null });
  const { capabilities } = (session.seen[0]?.["result"] ?? {}) as { capabilities: object };
  expect(capabilities).toHaveProperty("tasks", { cancel: {}, requests: { tools: { call: {} } } });
  expect(await session.error("tasks/list")).toMatchObject({ code: -32601 });
});

it("has none of its tasks on an earlier revision, and runs the tool as it is [C-011 C-028 A-08]", async () => {
  const { server } = await startServer(tools());
  const session = await InMemorySession.open(server, { version: "2025-06-18" });
  const { capabilities } = (session.seen[0]?.["result"] ?? {}) as { capabilities: object };
  // Those of SEP-1686 can be had on any revision.
  expect(capabilities).toMatchObject({ tasks: { tools: { call: true } } });
  const { tools: listed } = (await session.request("tools/list")) as { tools: object[] };
  expect(listed.every((tool) => !("execution" in tool))).toBe(true);
  expect(await session.error("tasks/cancel", { taskId: "x" })).toMatchObject({ code: -32601 });
  expect(await session.result(session.call("add", { a: 1, b: 2 }, { task: {} }))).toEqual(text("3"));
  expect(await session.error("tools/call", { name: "only" })).toMatchObject({ code: -32601 });
});

it("answers a call that asks for a task with one, at once [C-022 C-023 C-024 C-025 C-026 C-042 A-41]", async () => {
  const { server } = await startServer(tools());
  const session = await InMemorySession.open(server);
  const created = await session.result(session.call("hold", {}, { task: { ttl: 60_000, taskId: "mine" } }));
  expect(Object.keys(created).toSorted()).toEqual(["_meta", "task"]);
  const { task } = created as { task: { taskId: string } };
  expect(task).toEqual({
    taskId: expect.stringMatching(/.{22}/) as unknown,
    status: "working",
    statusMessage: "hold",
    createdAt: expect.any(String) as unknown,
    lastUpdatedAt: expect.any(String) as unknown,
    ttl: 60_000,
    pollInterval: 1_000,
    _meta: { "holdfast/tool": "hold" },
  });
  expect(task.taskId).not.toBe("mine");
  expect(created["_meta"]).toMatchObject({
    ...related(task.taskId),
    "io.modelcontextprotocol/model-immediate-response": "Under way.",
  });
  expect(await session.request("tasks/get", { taskId: task.taskId })).toEqual(task);
});

it.each(["add", "fails", "breaks"])(
  "answers directly where no task is asked for, and otherwise the same later: %s [C-060]",
  async (name) => {
    const { server } = await startServer(tools());
    const session = await InMemorySession.open(server);
    const { result, error } = await session.answerTo(session.call(name, { a: 1, b: 2 }));
    const taskId = await session.start(name, { a: 1, b: 2 });
    const later = await session.answerTo(session.begin("tasks/result", { taskId }));
    if (error === undefined)
      expect(later["result"]).toEqual({ ...(result as object), _meta: related(taskId) });
    else expect(later["error"]).toEqual(error);
  },
);

it("makes ids that differ and cannot be guessed, of tasks that all start as working [C-041 C-042 C-121]", async () => {
  const { server } = await startServer(tools(), { concurrency: 1 });
  const created: { taskId: string; status: string }[] = [];
  for (const principal of [null, "alice", "bob"]) {
    const session = await InMemorySession.open(server, { principal });
    for (const name of ["add", "fails", "breaks", "endless", "add"]) {
      const { task } = await session.result(session.call(name, { a: 1, b: 2 }, { task: {} }));
      created.push(task as { taskId: string; status: string });
    }
  }
  expect(created.map(({ status }) => status)).toEqual(Array(15).fill("working"));
  expect(new Set(created.map(({ taskId }) => taskId.slice(12))).size).toBe(15);
  for (const { taskId } of created) expect(taskId.slice(12)).toMatch(/^[\w-]{22}$/); // 128 random bits
});

it.each([
  ["a required tool without a task", "only", {}, -32601],
  ["a forbidden tool with one", "never", { task: {} }, -32601],
  ["a tool of nobody with one", "nobody", { task: {} }, -32601],
  ["a task that is null", "add", { task: null }, -32602],
  ["a ttl that is null", "add", { task: { ttl: null } }, -32602],
  ["a ttl below 0", "add", { task: { ttl: -1 } }, -32602],
])("refuses %s [C-016 C-019 C-113 A-06 A-07 A-15]", async (_case, name, more, code) => {
  const { server } = await startServer(tools());
  const session = await InMemorySession.open(server);
  const error = await session.error("tools/call", { name, arguments: {}, ...more });
  expect(error).toMatchObject({ code, message: expect.stringMatching(/\w/) as unknown });
});

it("demands tasks of all calls where it is told so [C-029]", async () => {
  const { server } = await startServer(tools(), { requireTasks: true });
  const session = await InMemorySession.open(server);
  const params = { name: "add", arguments: { a: 1, b: 2 } };
  expect(await session.error("tools/call", params)).toMatchObject({ code: -32600 });
  expect(await session.result(session.call("never"))).toEqual(text("directly"));
  const older = await InMemorySession.open(server, { version: "2025-06-18" });
  expect(await older.result(older.call("add", { a: 1, b: 2 }))).toEqual(text("3"));
});

it("holds tasks/result until the task ends, for everybody who waits [C-059 C-058 C-063]", async () => {
  const hold = gate();
  const { server } = await startServer(tools(hold));
  const session = await InMemorySession.open(server);
  const other = await InMemorySession.open(server);
  const taskId = await session.start("hold");
  const waits = [session.begin("tasks/result", { taskId }), session.begin("tasks/result", { taskId })];
  const elsewhere = other.begin("tasks/result", { taskId });
  await session.request("tasks/get", { taskId });
  expect(session.seen.some(({ id }) => waits.includes(id as number))).toBe(false);
  hold.resolve();
  const expected = { ...text("done"), _meta: related(taskId) };
  for (const id of waits) expect(await session.result(id)).toEqual(expected);
  expect(await other.result(elsewhere)).toEqual(expected);
  expect(await session.request("tasks/result", { taskId })).toEqual(expected);
});

it("shows a result with isError as failed, and replays it [C-116 C-062 C-117 A-09]", async () => {
  const { server } = await startServer(tools());
  const session = await InMemorySession.open(server);
  const taskId = await session.start("fails");
  expect(await session.until(taskId, "failed")).toMatchObject({ statusMessage: "no paper" });
  const result = await session.request("tasks/result", { taskId });
  expect(result).toEqual({ ...text("no paper"), isError: true, _meta: related(taskId) });
});

it("replays a JSON-RPC error as it is [C-061 A-12]", async () => {
  const { server } = await startServer(tools());
  const session = await InMemorySession.open(server);
  const taskId = await session.start("breaks");
  const waiting = await session.error("tasks/result", { taskId });
  expect(waiting).toEqual({ code: 4001, message: "deliberate", data: { fixture: true } });
  expect(await session.until(taskId, "failed")).toMatchObject({ statusMessage: "deliberate" });
});

it("cancels before it answers, for good, and tells who waits [C-077 C-079 C-080 A-10]", async () => {
  const { server } = await startServer(tools());
  const session = await InMemorySession.open(server);
  const taskId = await session.start("endless");
  const waiting = session.begin("tasks/result", { taskId });
  expect(await session.request("tasks/cancel", { taskId })).toMatchObject({ taskId, status: "cancelled" });
  expect(await session.answerTo(waiting)).toMatchObject({ error: { code: -32602 } });
  expect(await session.error("tasks/result", { taskId })).toMatchObject({ code: -32602 });
});

it.each([
  ["add", { a: 1, b: 2 }, "completed"],
  ["fails", {}, "failed"],
  ["breaks", {}, "failed"],
  ["endless", {}, "cancelled"],
])("refuses to cancel what has ended, and says how: %s [C-078]", async (name, args, status) => {
  const { server } = await startServer(tools());
  const session = await InMemorySession.open(server);
  const taskId = await session.start(name, args);
  if (status === "cancelled") await session.request("tasks/cancel", { taskId });
  await session.until(taskId, status);
  const message = `The task cannot be cancelled: it is already in terminal status "${status}".`;
  expect(await session.error("tasks/cancel", { taskId })).toEqual({ code: -32602, message });
});

it("drops the result of a handler that works on through a cancel [C-081 C-045]", async () => {
  const hold = gate();
  const { server } = await startServer(tools(hold));
  const session = await InMemorySession.open(server);
  const taskId = await session.start("stubborn");
  await session.request("tasks/cancel", { taskId });
  hold.resolve();
  const next = await session.start("add", { a: 1, b: 1 });
  await session.until(next, "completed");
  expect(await session.request("tasks/get", { taskId })).toMatchObject({ status: "cancelled" });
});

it.each(["add", "fails", "breaks"])("refuses to cancel what ended (%s) [C-078 C-111]", async (name) => {
  const { server } = await startServer(tools());
  const session = await InMemorySession.open(server);
  const taskId = await session.start(name, { a: 1, b: 1 });
  await session.until(taskId, "completed", "failed");
  expect(await session.error("tasks/cancel", { taskId })).toMatchObject({ code: -32602 });
});

it.each(["tasks/get", "tasks/result", "tasks/cancel"])(
  "says the same of foreign and unknown ids in %s [C-109 C-118 C-119 A-40]",
  async (method) => {
    const { server } = await startServer(tools());
    const alice = await InMemorySession.open(server, { principal: "alice" });
    const bob = await InMemorySession.open(server, { principal: "bob" });
    const taskId = await alice.start("endless");
    const foreign = await bob.error(method, { taskId });
    expect(foreign).toMatchObject({ code: -32602 });
    expect(await bob.error(method, { taskId: `${taskId.slice(0, -4)}0000` })).toEqual(foreign);
    expect(await bob.error(method, {})).toMatchObject({ code: -32602 });
  },
);

it("lists the requestor's own tasks in pages, the newest first [C-071 C-072 C-073 C-075 C-120]", async () => {
  const { server } = await startServer(tools());
  const alice = await InMemorySession.open(server, { principal: "alice" });
  const bob = await InMemorySession.open(server, { principal: "bob" });
  const foreign = await bob.start("add", { a: 0, b: 0 });
  const ids: string[] = [];
  for (let i = 0; i < 120; i += 1) ids.unshift(await alice.start(i === 60 ? "fails" : "add", { a: i, b: 0 }));
  await alice.until(ids[0] ?? "", "completed");
  const listed: { taskId: string }[] = [];
  let cursor: string | undefined;
  let pages = 0;
  do {
    const page = await alice.request("tasks/list", cursor === undefined ? {} : { cursor });
    listed.push(...(page["tasks"] as { taskId: string }[]));
    cursor = page["nextCursor"] as string | undefined;
    pages += 1;
  } while (cursor !== undefined);
  expect(pages).toBe(3);
  expect(listed.map(({ taskId }) => taskId)).toEqual(ids.toSorted().toReversed());
  expect(listed.map(({ taskId }) => taskId)).not.toContain(foreign);
  for (const task of listed.slice(55, 65)) {
    expect(await alice.request("tasks/get", { taskId: task.taskId })).toEqual(task);
  }
});

it("refuses a cursor that it did not hand out [C-110]", async () => {
  const { server } = await startServer(tools());
  const session = await InMemorySession.open(server);
  for (const cursor of ["garbage", "", 7]) {
    expect(await session.error("tasks/list", { cursor })).toMatchObject({ code: -32602 });
  }
});

it("ignores what a request about a task relates itself to [C-100 C-102]", async () => {
  const { server } = await startServer(tools());
  const session = await InMemorySession.open(server);
  const one = await session.start("endless");
  const two = await session.start("endless");
  const three = await session.start("add", { a: 1, b: 2 });
  const result = await session.request("tasks/result", { taskId: three, _meta: related(two) });
  expect(result).toEqual({ ...text("3"), _meta: related(three) });
  const got = await session.request("tasks/get", { taskId: one, _meta: related(two) });
  const _meta = { "holdfast/tool": "endless" };
  expect(got).toMatchObject({ taskId: one });
  expect(got["_meta"]).toEqual(_meta);
  const cancelled = await session.request("tasks/cancel", { taskId: one, _meta: related(two) });
  expect(cancelled["_meta"]).toEqual(_meta);
  expect(await session.request("tasks/get", { taskId: two })).toMatchObject({ status: "working" });
});

it("takes back a wait that its client cancels, and nothing else [A-13]", async () => {
  const hold = gate();
  const { server } = await startServer(tools(hold));
  const session = await InMemorySession.open(server);
  const taskId = await session.start("hold");
  const waiting = session.begin("tasks/result", { taskId });
  session.notify("notifications/cancelled", { requestId: waiting });
  expect(await session.request("tasks/get", { taskId })).toMatchObject({ status: "working" });
  hold.resolve();
  expect(await session.request("tasks/result", { taskId })).toMatchObject(text("done"));
  expect(session.seen.some(({ id }) => id === waiting)).toBe(false);
});

it("lets a task outlive its session [A-43]", async () => {
  const hold = gate();
  const { server } = await startServer(tools(hold));
  const session = await InMemorySession.open(server, { principal: null });
  const taskId = await session.start("hold");
  await session.close();
  hold.resolve();
  const later = await InMemorySession.open(server, { principal: null });
  expect(await later.request("tasks/result", { taskId })).toMatchObject(text("done"));
});
