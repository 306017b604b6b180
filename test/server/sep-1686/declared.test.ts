import { expect, it } from "vitest";
import { createdMethod } from "../../../src/generation/sep-1686.ts";
import { noSession } from "../../../src/server/streams.ts";
import { type Message, related as coreRelated, text } from "../../kit/messages.ts";
import { type Client, InMemorySession } from "../../kit/in-memory-session.ts";
import { startServer } from "../../kit/server.ts";
import { about, callAs, related, start } from "./sep.ts";

const tools: Parameters<typeof startServer>[0] = (tasks) => {
  tasks.tool("add", {}, () => text("3"));
};
const declares = { tasks: { elicitation: { create: true } } };

async function capabilities(client: Client, own?: Parameters<typeof startServer>[2]): Promise<Message> {
  const { server } = await startServer(tools, {}, own);
  const session = await InMemorySession.open(server, client);
  const answer = await session.message((message) => "result" in message);
  return (answer["result"] as Message)["capabilities"] as Message;
}

it.each(["2025-06-18", "2025-03-26", "2024-11-05"])(
  "says on %s which requests can be tasks, in booleans [S-003 A-01 A-46]",
  async (version) => {
    expect((await capabilities({ version }))["tasks"]).toEqual({ tools: { call: true } });
    const all = await capabilities({ version }, (mcp) => {
      mcp.registerResource("r", "test://r", {}, () => ({ contents: [] }));
      mcp.registerPrompt("p", {}, () => ({ messages: [] }));
    });
    expect(all["tasks"]).toEqual({
      tools: { call: true },
      resources: { read: true },
      prompts: { get: true },
    });
  },
);

it("says on 2025-11-25 what that revision says alone [A-46]", async () => {
  expect((await capabilities({}))["tasks"]).toEqual({
    list: {},
    cancel: {},
    requests: { tools: { call: {} } },
  });
});

it("asks no client for a capability [S-004]", async () => {
  const { server } = await startServer(tools);
  const session = await InMemorySession.open(server, { capabilities: {} });
  await start(session, "mine", "add");
});

it("lists the tasks of its revision, and those of the other generation once that is used [A-35 A-46 C-075 S-049]", async () => {
  const { server } = await startServer(tools);
  const session = await InMemorySession.open(server);
  const list = async (from: InMemorySession, params = {}): Promise<object> => {
    const { tasks } = (await from.request("tasks/list", params)) as { tasks: Message[] };
    return Object.fromEntries(
      tasks.map(({ taskId, ttl, keepAlive }) => [String(taskId), { ttl, keepAlive }] as const),
    );
  };
  const core = await session.start("add");
  const kept = expect.any(Number) as unknown;
  expect(await list(session)).toEqual({ [core]: { ttl: kept } });
  await start(session, "mine", "add");
  expect(await list(session)).toEqual({ [core]: { ttl: kept }, mine: { ttl: kept } });
  const ofSep = { [core]: { keepAlive: kept }, mine: { keepAlive: kept } };
  expect(await list(session, { _meta: related("any") })).toEqual(ofSep);
  expect(await list(await InMemorySession.open(server, { capabilities: declares }))).toEqual(ofSep);
});

it("lists the tasks of both generations in pages of one order [C-072 C-073 S-046 S-047]", async () => {
  const { server } = await startServer(tools);
  const session = await InMemorySession.open(server);
  const all: string[] = [];
  for (let n = 0; n < 30; n++) {
    all.push(await session.start("add"), `mine-${n}`);
    await session.result(callAs(session, { taskId: `mine-${n}` }, "add"));
  }
  const found: string[] = [];
  const sizes: number[] = [];
  for (let cursor: unknown; sizes.length === 0 || cursor !== undefined;) {
    const page = await session.request("tasks/list", cursor === undefined ? {} : { cursor });
    const tasks = page["tasks"] as Message[];
    sizes.push(tasks.length);
    found.push(...tasks.map(({ taskId }) => String(taskId)));
    cursor = page["nextCursor"];
  }
  expect(sizes).toEqual([50, 10]);
  expect(found.toSorted()).toEqual(all.toSorted());
  expect(found.slice(0, 10).toSorted()).not.toEqual(all.slice(0, 10).toSorted()); // the newest come first
});

it("shows a task in the form of the request, and deletes none of 2025-11-25 [A-35]", async () => {
  const { server } = await startServer(tools);
  const session = await InMemorySession.open(server);
  const core = await session.start("add");
  await session.result(callAs(session, { taskId: "mine" }, "add"));
  expect(await session.request("tasks/get", about(core))).toEqual({
    taskId: core,
    status: "completed",
    keepAlive: expect.any(Number) as unknown,
    pollFrequency: expect.any(Number) as unknown,
    _meta: { ...related(core), "holdfast/tool": "add" },
  });
  expect(await session.request("tasks/result", about(core))).toEqual({ ...text("3"), _meta: related(core) });
  expect(await session.request("tasks/result", { taskId: "mine" })).toEqual({
    ...text("3"),
    _meta: coreRelated("mine"),
  });
  expect(await session.error("tasks/cancel", { taskId: "mine" })).toMatchObject({ code: -32602 });
  expect(await session.error("tasks/delete", about(core))).toEqual({
    code: -32602,
    message: "A task of 2025-11-25 cannot be deleted. The server deletes it when its ttl is over.",
  });
});

it("has no tasks for whom nothing tells apart: their ids would be everybody's [S-009 S-014]", async () => {
  const { server } = await startServer(tools);
  const session = await InMemorySession.connect(server, null, noSession);
  expect(await session.result(callAs(session, { taskId: "mine" }, "add"))).toEqual(text("3"));
  expect(session.requests(createdMethod)).toEqual([]);
  expect(await session.error("tasks/delete", about("mine"))).toMatchObject({ code: -32601 });
});

it("has tasks without sessions too where callers are told apart", async () => {
  const { server } = await startServer(tools);
  const first = await InMemorySession.connect(server, "alice", noSession);
  await first.result(callAs(first, { taskId: "mine" }, "add"));
  const second = await InMemorySession.connect(server, "alice", noSession);
  expect(await second.request("tasks/result", about("mine"))).toMatchObject(text("3"));
});
