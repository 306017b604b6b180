import { ProtocolError, type McpServer } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import { withTask, createdMethod } from "../../../src/generation/sep-1686.ts";
import { text } from "../../kit/messages.ts";
import { InMemorySession } from "../../kit/in-memory-session.ts";
import { startServer } from "../../kit/server.ts";
import { about, created, related, until } from "./sep.ts";

const set = { rates: { pollsPerInterval: null, maxLoopDelayMs: null } };

interface Gate {
  readonly open: () => void;
  readonly aborted: Promise<void>;
  readonly own: (mcp: McpServer) => void;
}

function gated(): Gate {
  const { promise, resolve } = Promise.withResolvers<void>();
  const aborted = Promise.withResolvers<void>();
  return {
    open: resolve,
    aborted: aborted.promise,
    own: (mcp) => {
      mcp.registerResource("report", "test://report", {}, async ({ href }, { mcpReq }) => {
        mcpReq.signal.addEventListener("abort", () => aborted.resolve());
        await promise;
        return { contents: [{ uri: href, text: "14 pages" }] };
      });
      mcp.registerResource("gone", "test://gone", {}, () => {
        throw new ProtocolError(-32002, "no such report", { uri: "test://gone" });
      });
      mcp.registerPrompt("hello", {}, () => ({
        messages: [{ role: "user", content: { type: "text", text: "Hello" } }],
      }));
    },
  };
}

const none: Parameters<typeof startServer>[0] = (tasks) => tasks.tool("add", {}, () => text("3"));
const read = (session: InMemorySession, taskId: string, uri = "test://report"): string | number =>
  session.begin("resources/read", withTask({ uri }, { taskId }));

it("makes a task of a resource that is read, and answers as ever [S-002 S-011 S-015 S-040]", async () => {
  const gate = gated();
  const { server, errors } = await startServer(none, set, gate.own);
  const session = await InMemorySession.open(server);
  const request = read(session, "mine");
  await created(session, "mine");
  expect(await until(session, "mine", "working")).toMatchObject({ taskId: "mine" });
  gate.open();
  const answer = await session.result(request);
  const contents = [{ uri: "test://report", text: "14 pages" }];
  expect(answer).toEqual({ contents, _meta: related("mine") });
  expect(await session.request("tasks/get", about("mine"))).toMatchObject({ status: "completed" });
  expect(await session.request("tasks/result", about("mine"))).toEqual(answer);
  expect(session.seen.filter(({ id }) => id === request)).toHaveLength(1);
  const taken = await session.answerTo(read(session, "mine"));
  expect(taken["error"]).toEqual({ code: -32602, message: "Task id is already in use" });
  expect(errors).toEqual([]);
});

it("makes a task of a prompt [S-002]", async () => {
  const { server } = await startServer(none, set, gated().own);
  const session = await InMemorySession.open(server);
  const prompt = await session.request("prompts/get", withTask({ name: "hello" }, { taskId: "mine" }));
  expect(prompt).toMatchObject({ messages: [{ role: "user" }], _meta: related("mine") });
});

it("fails as the request does [S-082 S-083]", async () => {
  const { server } = await startServer(none, set, gated().own);
  const session = await InMemorySession.open(server);
  const { error } = await session.answerTo(read(session, "mine", "test://gone"));
  expect(error).toMatchObject({ message: "no such report", data: { uri: "test://gone" } });
  expect(await session.request("tasks/get", about("mine"))).toMatchObject({
    status: "failed",
    error: "no such report",
  });
});

it("is cancelled as other tasks are, and its handler hears of it [S-063]", async () => {
  const gate = gated();
  const { server, errors } = await startServer(none, set, gate.own);
  const session = await InMemorySession.open(server);
  const request = read(session, "mine");
  await created(session, "mine");
  await until(session, "mine", "working");
  session.notify("notifications/cancelled", { requestId: request });
  expect(await until(session, "mine")).toMatchObject({ status: "cancelled" });
  await gate.aborted;
  gate.open();
  await session.request("ping");
  expect(session.seen.filter(({ id }) => id === request)).toEqual([]);
  expect(errors).toEqual([]);
});

it("waits for its turn before the author's server sees it [S-026]", async () => {
  const gate = gated();
  const { server } = await startServer(none, { ...set, concurrency: 1 }, gate.own);
  const session = await InMemorySession.open(server);
  const first = read(session, "first");
  await created(session, "first");
  await until(session, "first", "working");
  const second = read(session, "second");
  await created(session, "second");
  expect(await session.request("tasks/get", about("second"))).toMatchObject({ status: "submitted" });
  gate.open();
  await session.result(first);
  await session.result(second);
});

it("is refused under the id of one that is not answered yet, which ends as ever", async () => {
  const gate = gated();
  const { server } = await startServer(none, set, gate.own);
  const session = await InMemorySession.open(server);
  const id = read(session, "first");
  await created(session, "first");
  await until(session, "first", "working");
  session.send({
    id,
    method: "resources/read",
    params: withTask({ uri: "test://report" }, { taskId: "second" }),
  });
  expect((await session.answerTo(id))["error"]).toMatchObject({ code: -32600 });
  expect(await session.error("tasks/get", about("second"))).toMatchObject({ code: -32602 });
  gate.open();
  expect(await until(session, "first")).toMatchObject({ status: "completed" });
});

it("ends under an id that its requestor used before for one that it cancelled", async () => {
  const gate = gated();
  const { server } = await startServer(none, set, gate.own);
  const session = await InMemorySession.open(server);
  const id = read(session, "first");
  await created(session, "first");
  await until(session, "first", "working");
  session.notify("notifications/cancelled", { requestId: id });
  session.send({
    id,
    method: "resources/read",
    params: withTask({ uri: "test://report" }, { taskId: "second" }),
  });
  await created(session, "second");
  expect(await until(session, "first")).toMatchObject({ status: "cancelled" });
  gate.open();
  expect(await until(session, "second")).toMatchObject({ status: "completed" });
});

it("ends with its connection, for nobody else can answer it, and says so", async () => {
  const { server } = await startServer(none, set, gated().own);
  const first = await InMemorySession.open(server);
  read(first, "mine");
  await created(first, "mine");
  await until(first, "mine", "working");
  await first.close();
  const second = await InMemorySession.open(server);
  expect(await until(second, "mine")).toMatchObject({
    status: "failed",
    error: "The connection that sent the request has closed.",
  });
});

it("is none without metadata, with wrong metadata, and where the author serves no such thing [S-009 S-014]", async () => {
  const gate = gated();
  gate.open();
  const { server } = await startServer(none, set, gate.own);
  const session = await InMemorySession.open(server);
  expect(await session.request("resources/read", { uri: "test://report" })).not.toHaveProperty("_meta");
  const wrong = { uri: "test://report", _meta: { "modelcontextprotocol.io/task": {} } };
  expect(await session.error("resources/read", wrong)).toMatchObject({ code: -32602 });
  const bare = await InMemorySession.open((await startServer(none, set)).server);
  expect(await bare.error("resources/read", withTask({ uri: "x" }, { taskId: "a" }))).toMatchObject({
    code: -32601,
  });
  expect([...session.requests(createdMethod), ...bare.requests(createdMethod)]).toEqual([]);
});
