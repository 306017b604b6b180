import type { Tasks } from "holdfast";
import { describe, expect, it } from "vitest";
import { callAs, related as relatedInSep, start } from "../sep-1686/sep.ts";
import { type Message, formClient, text, working } from "../../kit/messages.ts";
import { InMemorySession } from "../../kit/in-memory-session.ts";
import { startServer } from "../../kit/server.ts";
import { form } from "../prepare-caller.ts";

function tools(tasks: Tasks): void {
  tasks.tool("size", {}, async (_args, task) => {
    const { action, content } = await task.elicit("paper", form("Which size?"));
    return text(`${action} ${String(content?.["name"])}`);
  });
  tasks.tool("model", {}, async (_args, task) => {
    const content = { type: "text", text: "Weather?" } as const;
    const said = await task.sample("ask", { messages: [{ role: "user", content }], maxTokens: 10 });
    return { content: [said.content] };
  });
}

const accept = (content: object): object => ({ action: "accept", content });
const good = accept({ name: "A4" });
const bad = accept({ name: 4 });
const meta = (request: Message): Message => (request["params"] as Message)["_meta"] as Message;
const message = (request: Message): string => String((request["params"] as Message)["message"]);

/** Answers the nth elicitation, from 0. */
async function answer(session: InMemorySession, nth: number, result: object): Promise<Message> {
  const request = await session.asked("elicitation/create", nth);
  session.reply(request, result);
  return request;
}

describe("an answer that breaks the question's schema", () => {
  it("is refused with the reason, and the question put again under another name", async () => {
    const { server, errors } = await startServer(tools);
    const session = await InMemorySession.open(server, { capabilities: formClient });
    const taskId = await session.start("size");
    const first = await answer(session, 0, bad);
    const second = await session.asked("elicitation/create", 1);
    expect(message(second)).toMatch(/^Which size\?\n\nThe last answer was not accepted: .*string/);
    expect(meta(second)["holdfast/refused"]).toContain("string");
    const names = [first, second].map((request) => meta(request)["holdfast/questionKey"]);
    expect(names).toEqual(["paper", '["holdfast/refused","paper",1]']);
    expect(await session.request("tasks/get", { taskId })).toMatchObject({ status: "input_required" });
    session.reply(second, good);
    expect(await session.request("tasks/result", { taskId })).toMatchObject(text("accept A4"));
    expect(errors).toEqual([]);
  });

  it("ends the question after the third time that it was put again", async () => {
    const { server } = await startServer(tools);
    const session = await InMemorySession.open(server, { capabilities: formClient });
    const taskId = await session.start("size");
    for (let nth = 0; nth < 4; nth += 1) await answer(session, nth, bad);
    const result = await session.request("tasks/result", { taskId });
    expect(result).toMatchObject({ isError: true });
    expect(JSON.stringify(result["content"])).toMatch(/does not fit the question: .*string/);
    expect(session.requests("elicitation/create")).toHaveLength(4);
  });

  it("is refused of a call without a task too, which waits for its own or runs by itself", async () => {
    const { server } = await startServer(tools);
    for (const capabilities of [formClient, { ...formClient, tasks: {} }]) {
      const session = await InMemorySession.open(server, { capabilities });
      const call = session.call("size");
      await answer(session, 0, bad);
      expect(message(await answer(session, 1, good))).toContain("not accepted");
      expect(await session.result(call)).toEqual(text("accept A4"));
      const again = session.call("size");
      for (let nth = 2; nth < 6; nth += 1) await answer(session, nth, bad);
      expect(await session.result(again)).toMatchObject({ isError: true });
      expect(session.requests("elicitation/create")).toHaveLength(6);
    }
  });

  it("is refused in SEP-1686 too", async () => {
    const { server } = await startServer(tools);
    const session = await InMemorySession.open(server, { version: "2025-06-18", capabilities: formClient });
    const call = callAs(session, { taskId: "mine" }, "size");
    await answer(session, 0, bad);
    const second = await answer(session, 1, good);
    expect(meta(second)).toMatchObject({
      ...relatedInSep("mine"),
      "holdfast/questionKey": '["holdfast/refused","paper",1]',
    });
    expect(await session.result(call)).toMatchObject(text("accept A4"));
  });

  it("says what is wrong of the form of any other answer", async () => {
    const { server } = await startServer(tools);
    const session = await InMemorySession.open(server, { capabilities: { sampling: {} } });
    const taskId = await session.start("model");
    session.reply(await session.asked("sampling/createMessage"), { role: "assistant" });
    const second = await session.asked("sampling/createMessage", 1);
    expect(meta(second)["holdfast/refused"]).toEqual(expect.any(String));
    const content = { type: "text", text: "Rain." };
    session.reply(second, { role: "assistant", content, model: "m" });
    expect(await session.request("tasks/result", { taskId })).toMatchObject(text("Rain."));
  });
});

const receiver = { ...formClient, tasks: { requests: { elicitation: { create: {} } } } };
const failure = { code: -32603, message: "no tasks today" };

describe("a client that answers a question with an error where it is asked for a task", () => {
  it.each([
    ["as a task", true],
    ["without a task", false],
  ])("is asked plainly once, of a call %s", async (_, asTask) => {
    const { server } = await startServer(tools);
    const session = await InMemorySession.open(server, { capabilities: receiver });
    await session.request("ping", { task: {} });
    const call = session.call("size", {}, asTask ? { task: {} } : {});
    const first = await session.asked("elicitation/create");
    expect(first["params"]).toHaveProperty("task");
    session.send({ id: first["id"], error: failure });
    const second = await session.asked("elicitation/create", 1);
    expect(second["params"]).not.toHaveProperty("task");
    expect(message(second)).toBe("Which size?");
    session.reply(second, good);
    const result = await session.result(call);
    const { taskId } = (result["task"] ?? {}) as { taskId?: string };
    expect(asTask ? await session.request("tasks/result", { taskId }) : result).toMatchObject(
      text("accept A4"),
    );
  });

  it("has answered if it answers with an error then", async () => {
    const { server } = await startServer(tools);
    const session = await InMemorySession.open(server, { capabilities: receiver });
    const taskId = await session.start("size");
    for (const nth of [0, 1]) {
      session.send({ id: (await session.asked("elicitation/create", nth))["id"], error: failure });
    }
    const result = await session.request("tasks/result", { taskId });
    expect(JSON.stringify(result["content"])).toContain("no tasks today");
    expect(session.requests("elicitation/create")).toHaveLength(2);
  });

  it("is asked plainly where its task cannot be had any more, and not where it cancelled that", async () => {
    const { server } = await startServer(tools);
    for (const cancelled of [false, true]) {
      const session = await InMemorySession.open(server, { capabilities: receiver });
      const taskId = await session.start("size");
      await answer(session, 0, { task: working });
      const polled = await session.asked("tasks/get");
      if (cancelled) {
        session.reply(polled, { ...working, status: "cancelled" });
        session.send({ id: (await session.asked("tasks/result"))["id"], error: failure });
      } else {
        session.send({ id: polled["id"], error: failure });
        await answer(session, 1, good);
      }
      const result = await session.request("tasks/result", { taskId });
      expect(result).toMatchObject(cancelled ? { isError: true } : text("accept A4"));
      expect(session.requests("elicitation/create")).toHaveLength(cancelled ? 1 : 2);
    }
  });

  it("is asked plainly in SEP-1686 too", async () => {
    const { server } = await startServer(tools, { rates: { pollsPerInterval: null, maxLoopDelayMs: null } });
    const capabilities = { ...formClient, tasks: { elicitation: { create: true } } };
    const session = await InMemorySession.open(server, { version: "2025-06-18", capabilities });
    await start(session, "mine", "size");
    const first = await session.asked("elicitation/create");
    expect(meta(first)).toHaveProperty(["modelcontextprotocol.io/task"]);
    session.send({ id: first["id"], error: failure });
    const second = await answer(session, 1, good);
    expect(meta(second)).not.toHaveProperty(["modelcontextprotocol.io/task"]);
    const wait = { taskId: "mine", _meta: relatedInSep("mine") };
    let status: unknown;
    while (status !== "completed") status = (await session.request("tasks/get", wait))["status"];
    expect(await session.request("tasks/result", wait)).toMatchObject(text("accept A4"));
  });
});

describe("an answer that is an invalid task", () => {
  it.each([
    ["without an id", receiver, { task: { status: "working" } }],
    ["that is not an object", receiver, { task: "t1" }],
    ["of 2026-07-28", receiver, { resultType: "task", ...working }],
    ["that nobody asked for", formClient, { task: working }],
  ])("%s ends the question, and its user is not asked again", async (_, capabilities, result) => {
    const { server } = await startServer(tools);
    const session = await InMemorySession.open(server, { capabilities });
    for (const params of [{}, { task: {} }]) {
      const asked = session.requests("elicitation/create").length;
      const call = session.call("size", {}, params);
      await answer(session, asked, result);
      const { task, ...direct } = await session.result(call);
      const { taskId } = (task ?? {}) as { taskId?: string };
      const ended = taskId === undefined ? direct : await session.request("tasks/result", { taskId });
      expect(ended).toMatchObject({ isError: true });
      expect(JSON.stringify(ended["content"])).toContain("The answer is an invalid task");
      expect(session.requests("elicitation/create")).toHaveLength(asked + 1);
    }
  });
});
