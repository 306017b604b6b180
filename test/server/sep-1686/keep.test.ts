import type { Tasks } from "holdfast";
import { describe, expect, it } from "vitest";
import { type Message, text } from "../../kit/messages.ts";
import { InMemorySession } from "../../kit/in-memory-session.ts";
import { startServer } from "../../kit/server.ts";
import { FakeStreams } from "../2025-11-25/streams.ts";
import { about, callAs, related, start, until } from "./sep.ts";

const set = { rates: { pollsPerInterval: null, maxLoopDelayMs: null } };

function tools(tasks: Tasks): void {
  tasks.tool("add", {}, () => text("3"));
  tasks.tool("break", {}, () => {
    throw Object.assign(new Error("x"), {});
  });
  tasks.tool("wait", {}, async (_, { signal }) => {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return text("over");
  });
  tasks.tool("count", {}, async (_, task) => {
    for (let i = 1; i <= 3; i += 1) {
      task.progress(i, 3, `page ${i}`);
      await task.step(["page", String(i)], () => i);
    }
    return text("3 pages");
  });
}

describe("tasks/delete", () => {
  it("removes a task that has ended, and frees its id [S-051 S-053]", async () => {
    const { server } = await startServer(tools, set);
    const session = await InMemorySession.open(server);
    await session.result(callAs(session, { taskId: "mine" }, "add"));
    expect(await session.request("tasks/delete", about("mine"))).toEqual({ _meta: related("mine") });
    for (const method of ["tasks/get", "tasks/result", "tasks/delete"]) {
      expect(await session.error(method, about("mine"))).toMatchObject({ code: -32602 });
    }
    expect(await session.request("tasks/list")).toEqual({ tasks: [] });
    expect(await session.result(callAs(session, { taskId: "mine" }, "add"))).toMatchObject(text("3"));
  });

  it("is refused while the task runs, and says what to do [S-052 S-054 S-080 A-21]", async () => {
    const { server } = await startServer(tools, set);
    const session = await InMemorySession.open(server);
    await start(session, "mine", "wait");
    expect(await session.error("tasks/delete", about("mine"))).toEqual({
      code: -32602,
      // Until a process takes it, it is submitted.
      message: expect.stringMatching(
        /^The task cannot be deleted: it is in status "(submitted|working)"\. Cancel it first, then delete it\.$/,
      ) as string,
    });
    expect(await session.request("tasks/get", about("mine"))).toMatchObject({ taskId: "mine" });
  });
});

describe("tasks/list", () => {
  it("has every task that tasks/get finds, page by page [S-045 S-046 S-047 S-049 A-20]", async () => {
    const { server } = await startServer(tools, set);
    const session = await InMemorySession.open(server);
    const all = Array.from({ length: 101 }, (_, index) => `t${index}`);
    for (const taskId of all) await start(session, taskId, "add");
    const pages: Message[] = [];
    for (let params = {}; ;) {
      const page = await session.request("tasks/list", params);
      pages.push(page);
      if (page["nextCursor"] === undefined) break;
      params = { cursor: page["nextCursor"] };
    }
    expect(pages.map(({ tasks }) => (tasks as []).length)).toEqual([50, 50, 1]);
    const listed = pages.flatMap(({ tasks }) => tasks as { taskId: string }[]);
    expect(listed.map(({ taskId }) => taskId).toSorted()).toEqual(all.toSorted());
    expect(pages.every((page) => !("_meta" in page))).toBe(true);
    expect(Object.keys(pages.at(-1) ?? {})).toEqual(["tasks"]);
  });

  it("refuses a cursor that it did not give [S-076 S-080]", async () => {
    const { server } = await startServer(tools, set);
    const session = await InMemorySession.open(server, { version: "2025-06-18" });
    expect(await session.error("tasks/list", { cursor: "garbage" })).toMatchObject({ code: -32602 });
  });
});

it("keeps a task as long as was asked, within bounds, and says how long that is [S-036 S-073 S-091]", async () => {
  const { server } = await startServer(tools, { ...set, ttlMs: 5_000, maxTtlMs: 60_000 });
  const session = await InMemorySession.open(server);
  const kept = async (taskId: string, keepAliveMs?: number): Promise<unknown> => {
    await session.result(
      callAs(session, { taskId, ...(keepAliveMs !== undefined && { keepAliveMs }) }, "add"),
    );
    return (await session.request("tasks/get", about(taskId)))["keepAlive"];
  };
  expect([await kept("a"), await kept("b", 1e9), await kept("c", 0)]).toEqual([5_000, 60_000, 1_000]);
});

it("tells progress under the request's token, until that is answered [S-061 S-099]", async () => {
  const { server } = await startServer(tools, set);
  const streams = new FakeStreams();
  const session = await InMemorySession.open(server, { streams });
  const meta = { "modelcontextprotocol.io/task": { taskId: "mine" }, progressToken: "p" };
  const request = session.begin("tools/call", { name: "count", _meta: meta });
  await session.result(request);
  await until(session, "mine", "completed");
  const told = session.requests("notifications/progress");
  expect(told.length).toBeGreaterThan(0);
  for (const { params } of told) {
    expect(params).toMatchObject({ progressToken: "p", total: 3, _meta: related("mine") });
  }
  const answered = session.seen.findIndex(({ id }) => id === request);
  expect(session.seen.findLastIndex(({ method }) => method === "notifications/progress")).toBeLessThan(
    answered,
  );
  expect(session.requests("notifications/tasks/status")).toEqual([]);
});

it("lives on when its client goes away, and its answer is unheard", async () => {
  const { server, errors } = await startServer(tools, set);
  const first = await InMemorySession.open(server);
  await start(first, "mine", "count");
  await first.close();
  const second = await InMemorySession.open(server);
  expect(await until(second, "mine")).toMatchObject({ status: "completed" });
  expect(errors).toEqual([]);
});

it("belongs to its principal, and without one to its session [S-085 S-086 S-087 A-19 A-40 A-43]", async () => {
  const { server } = await startServer(tools, set);
  const open = (principal: string | null, sessionId: string): Promise<InMemorySession> => {
    const streams = Object.assign(new FakeStreams(), { sessionKey: sessionId });
    return InMemorySession.open(server, { principal, streams });
  };
  const alice = await open("alice", "1");
  const [bob, one, two, again] = [
    await open("bob", "2"),
    await open(null, "3"),
    await open(null, "4"),
    await open("alice", "5"),
  ];
  for (const owner of [alice, one]) {
    await owner.result(callAs(owner, { taskId: "mine" }, "add"));
  }
  for (const stranger of [bob, two]) {
    for (const method of ["tasks/get", "tasks/result", "tasks/delete"]) {
      const foreign = await stranger.error(method, about("mine"));
      expect(foreign).toEqual(await stranger.error(method, about("nowhere")));
    }
    await stranger.result(callAs(stranger, { taskId: "theirs" }, "add"));
    expect(await stranger.request("tasks/list")).toMatchObject({ tasks: [{ taskId: "theirs" }] });
    expect(await stranger.result(callAs(stranger, { taskId: "mine" }, "add"))).toMatchObject(text("3"));
  }
  expect(await again.request("tasks/result", about("mine"))).toMatchObject(text("3"));
  const taken = await again.answerTo(callAs(again, { taskId: "mine" }, "add"));
  expect(taken["error"]).toMatchObject({ code: -32602 });
  expect(await one.request("tasks/list")).toMatchObject({ tasks: [{ taskId: "mine" }] });
});
