import type { Tasks } from "holdfast";
import { expect, it } from "vitest";
import { type Message, text } from "../../kit/messages.ts";
import { InMemorySession } from "../../kit/in-memory-session.ts";
import { startServer } from "../../kit/server.ts";
import { form } from "../prepare-caller.ts";
import { callAs, related, until } from "./sep.ts";

function tools(tasks: Tasks): void {
  tasks.tool("ask", {}, async (_, task) => {
    const { content } = await task.elicit("size", form("Which size?"));
    return text(String(content?.["name"]));
  });
}

const accept = { action: "accept", content: { name: "A4" } };
const declares = { elicitation: { form: {} }, tasks: { elicitation: { create: true } } };
const set = { rates: { pollsPerInterval: null, maxLoopDelayMs: null } };

interface Asked {
  readonly session: InMemorySession;
  /** The call of the tool. */
  readonly request: string | number;
  readonly question: Message;
  /** The id that the server made up for the client's task. */
  readonly theirs: string;
}

async function asked(): Promise<Asked> {
  const { server } = await startServer(tools, set);
  const session = await InMemorySession.open(server, { capabilities: declares });
  const request = callAs(session, { taskId: "mine" }, "ask");
  const question = await session.asked("elicitation/create");
  const meta = (question["params"] as Message)["_meta"] as Record<string, { taskId: string }>;
  expect(meta).toMatchObject(related("mine"));
  return { session, request, question, theirs: meta["modelcontextprotocol.io/task"]?.taskId ?? "" };
}

it("asks a client that declares it for a task, under an id of its own, and takes a plain answer [S-002 S-004]", async () => {
  const [one, two] = [await asked(), await asked()];
  expect(one.theirs.length).toBeGreaterThan(20);
  expect(one.theirs).not.toBe(two.theirs);
  one.session.reply(one.question, accept);
  expect(await one.session.result(one.request)).toMatchObject(text("A4"));
  expect(one.session.requests("tasks/get")).toEqual([]);
});

it("polls once the client says that its task is there, and takes what ends first [S-016 S-017 S-034 S-039]", async () => {
  const { session, request, theirs } = await asked();
  expect(session.requests("tasks/get")).toEqual([]);
  session.notify("notifications/tasks/created", { _meta: related("another") });
  session.notify("notifications/tasks/created", { _meta: related(theirs) });
  const task = { taskId: theirs, keepAlive: null, pollFrequency: 1, _meta: related(theirs) };
  const first = await session.asked("tasks/get");
  expect(first["params"]).toEqual({ taskId: theirs, _meta: related(theirs) });
  session.reply(first, { ...task, status: "working" });
  session.reply(await session.asked("tasks/get", 1), { ...task, status: "completed" });
  session.reply(await session.asked("tasks/result"), { ...accept, _meta: related(theirs) });
  expect(await session.result(request)).toMatchObject(text("A4"));
});

it("takes the reply that overtakes the polls", async () => {
  const { session, request, question, theirs } = await asked();
  session.notify("notifications/tasks/created", { _meta: related(theirs) });
  await session.asked("tasks/get"); // which is never answered
  session.reply(question, accept);
  expect(await session.result(request)).toMatchObject(text("A4"));
});

it("hears of a client's task that failed, once the client was asked plainly too", async () => {
  const { session, request, theirs } = await asked();
  session.notify("notifications/tasks/created", { _meta: related(theirs) });
  const failed = { taskId: theirs, status: "failed", keepAlive: null, error: "nobody there" };
  session.reply(await session.asked("tasks/get"), { ...failed, _meta: related(theirs) });
  const plainly = await session.asked("elicitation/create", 1);
  session.send({ id: plainly["id"], error: { code: -32603, message: "nobody there" } });
  expect(JSON.stringify(await session.result(request))).toContain("nobody there");
});

it("takes the question back when its task is cancelled", async () => {
  const { session, request, question } = await asked();
  session.notify("notifications/cancelled", { requestId: request, _meta: related("mine") });
  const withdrawn = await session.asked("notifications/cancelled");
  expect(withdrawn["params"]).toMatchObject({ requestId: question["id"], _meta: related("mine") });
  expect(await until(session, "mine")).toMatchObject({ status: "cancelled" });
});
