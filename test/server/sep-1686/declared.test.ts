import { expect, it } from "vitest";
import { createdMethod } from "../../../src/generation/sep-1686.ts";
import { noSession } from "../../../src/server/streams.ts";
import { type Message, text } from "../../kit/messages.ts";
import { type Client, InMemorySession } from "../../kit/in-memory-session.ts";
import { startServer } from "../../kit/server.ts";
import { about, callAs, start } from "./sep.ts";

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

it("lists the tasks of the generation that was used last, at first those of the revision [A-46]", async () => {
  const { server } = await startServer(tools);
  const session = await InMemorySession.open(server);
  const core = await session.start("add");
  expect(await session.request("tasks/list")).toMatchObject({ tasks: [{ taskId: core }] });
  await start(session, "mine", "add");
  expect(await session.request("tasks/list")).toMatchObject({ tasks: [{ taskId: "mine" }] });
  await session.start("add");
  expect(((await session.request("tasks/list"))["tasks"] as []).length).toBe(2);
  const sep = await InMemorySession.open(server, { capabilities: declares });
  expect(await sep.request("tasks/list")).toMatchObject({ tasks: [{ taskId: "mine" }] });
});

it("shows no task of the other generation [A-35]", async () => {
  const { server } = await startServer(tools);
  const session = await InMemorySession.open(server);
  const core = await session.start("add");
  await session.result(callAs(session, { taskId: "mine" }, "add"));
  for (const method of ["tasks/get", "tasks/result", "tasks/delete"]) {
    expect(await session.error(method, about(core))).toMatchObject({ code: -32602 });
  }
  expect(await session.error("tasks/cancel", { taskId: "mine" })).toMatchObject({ code: -32602 });
  expect(await session.error("tasks/delete", { taskId: core })).toMatchObject({ code: -32602 });
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
