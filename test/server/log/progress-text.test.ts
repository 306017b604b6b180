import { expect, it } from "vitest";
import { type Message, related } from "../../kit/messages.ts";
import { InMemorySession } from "../../kit/in-memory-session.ts";
import { startServer } from "../../kit/server.ts";
import { created, related as sepRelated } from "../sep-1686/sep.ts";
import { teller } from "./teller.ts";

const token = { _meta: { progressToken: "p" } };
const progressOf = (session: InMemorySession): Message[] =>
  session.requests("notifications/progress").map(({ params }) => params as Message);

it("sends lines as progress until the handler reports some, and their text with its reports [B-133 B-134 B-136]", async () => {
  const { tools, say, said } = teller();
  const { server } = await startServer(tools);
  const session = await InMemorySession.open(server);
  const taskId = await session.start("tell", {}, token);
  const more = { progressToken: "p", _meta: related(taskId) };
  say("debug", "a detail");
  say("info", "begins");
  await session.asked("notifications/progress");
  say("warning", "slow");
  await session.asked("notifications/progress", 1);
  say(0.5, 2);
  await session.asked("notifications/progress", 2);
  say("info", "goes on");
  await said(4);
  say(1, 2);
  await session.asked("notifications/progress", 3);
  say(2, 2, "of its own");
  await session.asked("notifications/progress", 4);
  say("end");
  await session.request("tasks/result", { taskId });
  expect(progressOf(session)).toEqual([
    { ...more, progress: 0.002, message: "begins" },
    { ...more, progress: 0.003, message: "slow" },
    { ...more, progress: 0.5, total: 2, message: "slow" },
    { ...more, progress: 1, total: 2, message: "goes on" },
    { ...more, progress: 2, total: 2, message: "of its own" },
  ]);
});

it("never lets progress fall: a report that is less than the lines before it waits for a larger one [B-132]", async () => {
  const { tools, say } = teller();
  const { server } = await startServer(tools);
  const session = await InMemorySession.open(server);
  const taskId = await session.start("tell", {}, token);
  say("info", "begins");
  await session.asked("notifications/progress");
  say(0, 10);
  say("info", "goes on");
  say(3, 10);
  await session.asked("notifications/progress", 1);
  say("end");
  await session.request("tasks/result", { taskId });
  const numbers = progressOf(session).map(({ progress }) => Number(progress));
  expect(numbers).toEqual([0.001, 3]);
});

it("does so for a request that waits for its task of SEP-1686", async () => {
  const { tools, say } = teller();
  const { server } = await startServer(tools);
  const session = await InMemorySession.open(server);
  const request = session.begin("tools/call", {
    name: "tell",
    arguments: {},
    _meta: { progressToken: 9, "modelcontextprotocol.io/task": { taskId: "t1" } },
  });
  await created(session, "t1");
  say("info", "begins");
  await session.asked("notifications/progress");
  say("end");
  await session.result(request);
  expect(progressOf(session)).toEqual([
    { progressToken: 9, progress: 0.001, message: "begins", _meta: sepRelated("t1") },
  ]);
});

it.each([
  ["direct", { tasks: {} }],
  ["waiting", {}],
])("does so on the stream of a %s call", async (_, capabilities) => {
  const { tools, say } = teller();
  const { server } = await startServer(tools);
  const session = await InMemorySession.open(server, { capabilities });
  const call = session.call("tell", {}, token);
  say("info", "begins");
  await session.asked("notifications/progress");
  say(1, 3);
  await session.asked("notifications/progress", 1);
  say("end");
  await session.result(call);
  expect(progressOf(session)).toEqual([
    { progressToken: "p", progress: 0.001, message: "begins" },
    { progressToken: "p", progress: 1, total: 3, message: "begins" },
  ]);
});

it("begins with the newest line where a call joins one that was left", async () => {
  const { tools, say } = teller();
  const { server } = await startServer(tools);
  const [first, second] = [await InMemorySession.open(server), await InMemorySession.open(server)];
  first.call("tell", {}, token);
  say("info", "one");
  await first.asked("notifications/progress");
  await first.close();
  const call = second.call("tell", {}, token);
  await second.asked("notifications/progress");
  say("info", "two");
  await second.asked("notifications/progress", 1);
  say("end");
  await second.result(call);
  expect(progressOf(second)).toMatchObject([
    { progress: 0.001, message: "one" },
    { progress: 0.002, message: "two" },
  ]);
});
