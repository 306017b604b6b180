import type { Tasks } from "holdfast";
import { expect, it } from "vitest";
import * as z from "zod";
import { questionKeyMeta } from "../../../src/generation/extensions.ts";
import { type Message, formClient, related, text, working } from "../../kit/messages.ts";
import { InMemorySession } from "../../kit/in-memory-session.ts";
import { startServer } from "../../kit/server.ts";
import { FakeStreams } from "./streams.ts";

const schema = {
  type: "object" as const,
  properties: { ok: { type: "boolean" as const } },
  required: ["ok"],
};

function tools(tasks: Tasks): void {
  tasks.tool("confirm", {}, async (_args, task) => {
    const { action, content } = await task.elicit("sure", { message: "Sure?", requestedSchema: schema });
    return text(`${action} ${String(content?.["ok"])}`);
  });
  tasks.tool("two", {}, async (_args, task) => {
    const ask = (key: string) => task.elicit(key, { message: key, requestedSchema: schema });
    const answers = await Promise.all([ask("first"), ask("second")]);
    return text(answers.map(({ content }) => String(content?.["ok"])).join(" "));
  });
  tasks.tool("model", { inputSchema: z.object({ prompt: z.string() }) }, async ({ prompt }, task) => {
    const messages = [{ role: "user" as const, content: { type: "text" as const, text: prompt } }];
    const { content } = await task.sample("ask", { messages, maxTokens: 100 });
    return { content: [content] };
  });
  tasks.tool("impatient", {}, async (_args, task) => {
    const question = { message: "Now?", requestedSchema: schema };
    return task.elicit("now", question, { timeoutMs: 1 }).then(
      () => text("answered"),
      () => text("too late"),
    );
  });
  tasks.tool(
    "greets",
    {
      task: "required",
      prepare: async (_args, ask) => {
        const { content } = await ask.elicit("user_name", {
          message: "Who?",
          requestedSchema: { type: "object", properties: { name: { type: "string" } } },
        });
        return String(content?.["name"]);
      },
    },
    (_args, task) => text(`Hello, ${task.prepared}`),
  );
  tasks.tool("asks_first", { requires: ["elicitation"] }, async (_args, task) => {
    await task.elicit("sure", { message: "Sure?", requestedSchema: schema });
    return text("asked");
  });
}

const accept = (ok: boolean): object => ({ action: "accept", content: { ok } });

const sampled = { role: "assistant", content: { type: "text", text: "Rain." }, model: "a model" };

it("asks at once on a pipe, and says whose question it is, and which [C-091 C-092 C-094 C-099 A-45]", async () => {
  const { server } = await startServer(tools);
  const session = await InMemorySession.open(server, { capabilities: formClient });
  const taskId = await session.start("confirm");
  const asked = await session.asked("elicitation/create");
  expect(asked["params"]).toEqual({
    mode: "form",
    message: "Sure?",
    requestedSchema: schema,
    _meta: { ...related(taskId), [questionKeyMeta]: "sure" },
  });
  expect(await session.request("tasks/get", { taskId })).toMatchObject({ status: "input_required" });
  session.reply(asked, accept(true));
  expect(await session.request("tasks/result", { taskId })).toMatchObject(text("accept true"));
});

it("asks on the stream of tasks/result where there is no other [C-096 A-14]", async () => {
  const { server } = await startServer(tools);
  const streams = new FakeStreams();
  const session = await InMemorySession.open(server, { capabilities: formClient, streams });
  const { listeners } = streams;
  const taskId = await session.start("confirm");
  await session.until(taskId, "input_required");
  expect(session.requests("elicitation/create")).toEqual([]);
  const waiting = session.begin("tasks/result", { taskId });
  session.reply(await session.asked("elicitation/create"), accept(false));
  expect(await session.result(waiting)).toMatchObject(text("accept false"));
  expect(streams.listeners).toBe(listeners);
});

it("asks as soon as the session opens its own stream [A-14]", async () => {
  const { server } = await startServer(tools);
  const streams = new FakeStreams();
  const session = await InMemorySession.open(server, { capabilities: formClient, streams });
  const taskId = await session.start("confirm");
  await session.until(taskId, "input_required");
  expect(session.requests("elicitation/create")).toEqual([]);
  streams.setStandalone(true);
  session.reply(await session.asked("elicitation/create"), accept(true));
  expect(await session.until(taskId, "completed", "failed")).toMatchObject({ status: "completed" });
});

it("asks again on the next stream when one breaks, and takes the first answer [A-14]", async () => {
  const { server } = await startServer(tools);
  const streams = new FakeStreams();
  const session = await InMemorySession.open(server, { capabilities: formClient, streams });
  const taskId = await session.start("confirm");
  const first = session.begin("tasks/result", { taskId });
  const question = await session.asked("elicitation/create");
  streams.break(first);
  const second = session.begin("tasks/result", { taskId });
  const again = await session.asked("elicitation/create", 1);
  expect(again["params"]).toEqual(question["params"]); // with the same key
  expect(again["id"]).not.toBe(question["id"]);
  session.reply(question, accept(true));
  session.reply(again, accept(false));
  expect(await session.result(second)).toMatchObject(text("accept true"));
});

it("asks another session of the same principal once the first is gone [A-14 A-43]", async () => {
  const { server } = await startServer(tools);
  const session = await InMemorySession.open(server, { capabilities: formClient });
  const taskId = await session.start("confirm");
  await session.asked("elicitation/create");
  await session.close();
  const next = await InMemorySession.open(server, { capabilities: formClient });
  expect(next.requests("elicitation/create")).toEqual([]);
  const waiting = next.begin("tasks/result", { taskId });
  next.reply(await next.asked("elicitation/create"), accept(true));
  expect(await next.result(waiting)).toMatchObject(text("accept true"));
});

it("asks in order, each question once, and takes the answers in any order [A-14]", async () => {
  const { server } = await startServer(tools);
  const session = await InMemorySession.open(server, { capabilities: formClient });
  const taskId = await session.start("two");
  const first = await session.asked("elicitation/create");
  const second = await session.asked("elicitation/create", 1);
  expect([first, second].map(({ params }) => (params as Message)["message"])).toEqual(["first", "second"]);
  session.reply(second, accept(false));
  session.reply(first, accept(true));
  expect(await session.request("tasks/result", { taskId })).toMatchObject(text("true false"));
  expect(session.requests("elicitation/create")).toHaveLength(2);
});

it("takes an error for an answer", async () => {
  const { server } = await startServer(tools);
  const session = await InMemorySession.open(server, { capabilities: formClient });
  const refused = await session.start("confirm");
  session.send({
    id: (await session.asked("elicitation/create"))["id"],
    error: { code: -1, message: "No user" },
  });
  const result = await session.request("tasks/result", { taskId: refused });
  expect(result).toMatchObject({ isError: true });
  expect(JSON.stringify(result["content"])).toContain("No user");
});

it("takes a question back that nobody needs any more [C-087]", async () => {
  const { server } = await startServer(tools);
  const session = await InMemorySession.open(server, { capabilities: formClient });
  const taskId = await session.start("confirm");
  const asked = await session.asked("elicitation/create");
  await session.request("tasks/cancel", { taskId });
  const taken = await session.message(({ method }) => method === "notifications/cancelled");
  expect(taken["params"]).toMatchObject({ requestId: asked["id"] });
  session.reply(asked, accept(true));
  expect(await session.request("tasks/get", { taskId })).toMatchObject({ status: "cancelled" });
});

it("asks in the task what another revision asks before it [A-49]", async () => {
  const { server } = await startServer(tools);
  const session = await InMemorySession.open(server, { capabilities: formClient });
  const taskId = await session.start("greets");
  const asked = await session.asked("elicitation/create");
  expect(asked["params"]).toMatchObject({ message: "Who?", _meta: related(taskId) });
  session.reply(asked, { action: "accept", content: { name: "Ada" } });
  expect(await session.request("tasks/result", { taskId })).toMatchObject(text("Hello, Ada"));
});

it("asks on the call itself where there is no task", async () => {
  const { server } = await startServer(tools);
  const session = await InMemorySession.open(server, { capabilities: { ...formClient, sampling: {} } });
  const call = session.call("confirm");
  const asked = await session.asked("elicitation/create");
  expect(asked["params"]).not.toHaveProperty("_meta");
  session.reply(asked, accept(true));
  expect(await session.result(call)).toEqual(text("accept true"));
  const model = session.call("model", { prompt: "Weather?" });
  session.reply(await session.asked("sampling/createMessage"), sampled);
  expect(await session.result(model)).toEqual(text("Rain."));
});

it("answers with isError where the client cannot be asked and the tool did not say that it asks", async () => {
  const { server } = await startServer(tools, { plain: "wait" });
  const session = await InMemorySession.open(server);
  expect(await session.result(session.call("confirm"))).toMatchObject({ isError: true });
  const taskId = await session.start("confirm");
  expect(await session.request("tasks/result", { taskId })).toMatchObject({ isError: true });
  expect(session.requests("elicitation/create")).toEqual([]);
});

const receiver = {
  sampling: {},
  elicitation: {},
  tasks: { list: {}, cancel: {}, requests: { sampling: { createMessage: {} } } },
};

it("makes a task of a question where the client takes it so, and of no other [C-001 C-007 C-009]", async () => {
  const { server } = await startServer(tools);
  const session = await InMemorySession.open(server, { capabilities: receiver });
  const taskId = await session.start("model", { prompt: "Weather?" });
  const asked = await session.asked("sampling/createMessage");
  expect(asked["params"]).toMatchObject({ task: {}, _meta: related(taskId) });
  session.reply(asked, { task: working });
  session.notify("notifications/tasks/status", { ...working, status: "completed" });
  const polled = await session.asked("tasks/get");
  expect(polled["params"]).toEqual({ taskId: "c1" });
  session.reply(polled, { ...working, status: "completed" });
  const fetched = await session.asked("tasks/result");
  expect(fetched["params"]).toEqual({ taskId: "c1" });
  session.reply(fetched, { ...sampled, _meta: related("c1") });
  expect(await session.request("tasks/result", { taskId })).toMatchObject(text("Rain."));
  const plain = await session.start("confirm");
  const elicitation = await session.asked("elicitation/create");
  expect(elicitation["params"]).not.toHaveProperty("task");
  session.reply(elicitation, accept(true));
  expect(await session.request("tasks/result", { taskId: plain })).toMatchObject(text("accept true"));
});

it("cancels the client's task with its own", async () => {
  const { server } = await startServer(tools);
  const session = await InMemorySession.open(server, { capabilities: receiver });
  const taskId = await session.start("model", { prompt: "Weather?" });
  session.reply(await session.asked("sampling/createMessage"), { task: working });
  session.reply(await session.asked("tasks/get"), working);
  await session.request("tasks/cancel", { taskId });
  const cancelled = await session.asked("tasks/cancel");
  expect(cancelled["params"]).toEqual({ taskId: "c1" });
});

it("takes an answer that comes at once from a client that takes tasks, and says no more than for what [C-D-007]", async () => {
  const { server } = await startServer(tools);
  const { requests } = receiver.tasks;
  const session = await InMemorySession.open(server, { capabilities: { sampling: {}, tasks: { requests } } });
  await session.request("ping", { task: {} });
  const call = session.call("model", { prompt: "Weather?" });
  const asked = await session.asked("sampling/createMessage");
  expect(asked["params"]).toHaveProperty("task");
  session.reply(asked, sampled);
  expect(await session.result(call)).toEqual(text("Rain."));
});

it("asks once what the client took as a task, whatever becomes of its streams [C-001]", async () => {
  const { server } = await startServer(tools);
  const streams = new FakeStreams();
  streams.setStandalone(true);
  const session = await InMemorySession.open(server, { capabilities: receiver, streams });
  const taskId = await session.start("model", { prompt: "Weather?" });
  session.reply(await session.asked("sampling/createMessage"), { task: working });
  await session.asked("tasks/get");
  for (let flap = 0; flap < 3; flap += 1) {
    streams.setStandalone(false);
    streams.setStandalone(true);
  }
  await session.request("tasks/get", { taskId });
  session.reply(await session.asked("tasks/get"), { ...working, status: "completed" });
  session.reply(await session.asked("tasks/result"), sampled);
  expect(await session.request("tasks/result", { taskId })).toMatchObject(text("Rain."));
  expect(session.requests("sampling/createMessage")).toHaveLength(1);
});

it("asks another session when the one that took the question as a task is out of reach [A-14]", async () => {
  const { server } = await startServer(tools);
  const streams = new FakeStreams();
  streams.setStandalone(true);
  const session = await InMemorySession.open(server, { capabilities: receiver, streams });
  const taskId = await session.start("model", { prompt: "Weather?" });
  session.reply(await session.asked("sampling/createMessage"), { task: working });
  await session.asked("tasks/get");
  streams.setStandalone(false);
  const next = await InMemorySession.open(server, { capabilities: { sampling: {} } });
  const waiting = next.begin("tasks/result", { taskId });
  next.reply(await next.asked("sampling/createMessage"), sampled);
  expect(await next.result(waiting)).toMatchObject(text("Rain."));
});
