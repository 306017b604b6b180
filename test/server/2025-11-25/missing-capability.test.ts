import type { Tasks } from "holdfast";
import { expect, it } from "vitest";
import { noSession } from "../../../src/server/streams.ts";
import { formClient, text } from "../../kit/messages.ts";
import { InMemorySession } from "../../kit/in-memory-session.ts";
import { startServer } from "../../kit/server.ts";
import { about, callAs, start } from "../sep-1686/sep.ts";

let handled = 0;

function tools(tasks: Tasks): void {
  const handler = (): ReturnType<typeof text> => (handled++, text("asked"));
  tasks.tool("asks", { plain: "wait", requires: ["elicitation", "sampling"] }, handler);
  tasks.tool("only", { task: "required", requires: ["sampling"] }, handler);
  tasks.tool("draft", { plain: "ticket", requires: ["sampling"] }, handler);
}

const needs = (tool: string, missing: string): string =>
  `Tool ${tool} needs client capabilities that the client did not declare: ${missing}.`;

it.each([
  ["asks", "sampling"],
  ["only", "sampling"],
  ["draft", "sampling"],
])(
  "refuses a call of %s as a task whose client cannot be asked, and makes none [A-24]",
  async (name, missing) => {
    handled = 0;
    const { server } = await startServer(tools);
    const session = await InMemorySession.open(server, { capabilities: formClient });
    const refused = await session.error("tools/call", { name, arguments: {}, task: {} });
    expect(refused).toEqual({ code: -32602, message: needs(name, missing) });
    expect(await session.request("tasks/list")).toEqual({ tasks: [] });
    expect(handled).toBe(0);
  },
);

it("answers the same call without a task with a result that says so", async () => {
  const { server } = await startServer(tools);
  const plain = await InMemorySession.open(server, { capabilities: {} });
  const answer = { ...text(needs("asks", "elicitation, sampling")), isError: true };
  expect(await plain.result(plain.call("asks"))).toEqual(answer);
  // A client with tasks that wants none for this call.
  const direct = await InMemorySession.open(server, { capabilities: { tasks: {} } });
  expect(await direct.result(direct.call("asks"))).toEqual(answer);
  const older = await InMemorySession.open(server, { capabilities: {}, version: "2025-06-18" });
  const params = { name: "asks", arguments: {}, task: {} };
  expect(await older.request("tools/call", params)).toEqual(answer); // there, that member means nothing
});

it("refuses it on a connection whose client said nothing of itself, too", async () => {
  const { server } = await startServer(tools);
  const session = await InMemorySession.connect(server, "alice", noSession);
  const refused = await session.error("tools/call", { name: "only", arguments: {}, task: {} });
  expect(refused).toEqual({ code: -32602, message: needs("only", "sampling") });
});

it.each(["2025-11-25", "2025-06-18"])("refuses a task of SEP-1686 on %s alike [A-24]", async (version) => {
  handled = 0;
  const { server } = await startServer(tools);
  const session = await InMemorySession.open(server, { version, capabilities: formClient });
  const { error } = await session.answerTo(callAs(session, { taskId: "mine" }, "only"));
  expect(error).toEqual({ code: -32602, message: needs("only", "sampling") });
  expect(await session.error("tasks/get", about("mine"))).toMatchObject({ code: -32602 });
  expect(handled).toBe(0);
  const able = await InMemorySession.open(server, { version, capabilities: { sampling: {} } });
  await start(able, "mine", "only");
});
