import type { Tasks } from "holdfast";
import { expect, it } from "vitest";
import { formClient, text } from "../../kit/messages.ts";
import { InMemorySession } from "../../kit/in-memory-session.ts";
import { startServer } from "../../kit/server.ts";
import { FakeStreams } from "../2025-11-25/streams.ts";
import { questionKeyMeta } from "../../../src/generation/extensions.ts";
import { form } from "../prepare-caller.ts";
import { about, callAs, created, related, start, until } from "./sep.ts";

function tools(tasks: Tasks): void {
  tasks.tool("ask", {}, async (_, task) => {
    const { content } = await task.elicit("size", form("Which size?"));
    return text(String(content?.["name"]));
  });
  tasks.tool("two", {}, async (_, task) => {
    const all = await Promise.all(["a", "b"].map((key) => task.elicit(key, form(key))));
    return text(all.map(({ content }) => String(content?.["name"])).join(" "));
  });
  tasks.tool("model", {}, async (_, task) => {
    const messages = [{ role: "user" as const, content: { type: "text" as const, text: "Hi" } }];
    return text((await task.sample("ask", { messages, maxTokens: 5 })).model);
  });
  tasks.tool("roots", {}, async (_, task) => text(String((await task.roots("r")).roots.length)));
}

const set = { rates: { pollsPerInterval: null, maxLoopDelayMs: null } };
const accept = (name: string): object => ({ action: "accept", content: { name } });

it("says which task a question is of, which it is there, and that the task waits for it [S-056 S-057 S-058 S-061 S-062]", async () => {
  const { server } = await startServer(tools, set);
  const session = await InMemorySession.open(server, { capabilities: formClient });
  const request = callAs(session, { taskId: "mine" }, "ask");
  const asked = await session.asked("elicitation/create");
  const _meta = { ...related("mine"), [questionKeyMeta]: "size" };
  expect(asked["params"]).toEqual({ mode: "form", ...form("Which size?"), _meta });
  expect(session.sentOn.get(asked["id"])).toBe(request);
  expect(session.seen.indexOf(await created(session, "mine"))).toBeLessThan(session.seen.indexOf(asked));
  expect(await session.request("tasks/get", about("mine"))).toMatchObject({ status: "input_required" });
  session.reply(asked, { ...accept("A4"), _meta: related("mine") });
  expect(await session.result(request)).toMatchObject(text("A4"));
});

it("asks for sampling and roots as well [S-002 S-057]", async () => {
  const { server } = await startServer(tools, set);
  const session = await InMemorySession.open(server, { capabilities: { sampling: {}, roots: {} } });
  const model = callAs(session, { taskId: "model" }, "model");
  const sampling = await session.asked("sampling/createMessage");
  expect(sampling["params"]).toMatchObject({ _meta: related("model") });
  session.reply(sampling, { role: "assistant", model: "m", content: { type: "text", text: "Hi" } });
  expect(await session.result(model)).toMatchObject(text("m"));
  const roots = callAs(session, { taskId: "roots" }, "roots");
  session.reply(await session.asked("roots/list"), { roots: [] });
  expect(await session.result(roots)).toMatchObject(text("0"));
});

it("waits until every question is answered [S-059]", async () => {
  const { server } = await startServer(tools, set);
  const session = await InMemorySession.open(server, { capabilities: formClient });
  const request = callAs(session, { taskId: "mine" }, "two");
  session.reply(await session.asked("elicitation/create", 0), accept("x"));
  const second = await session.asked("elicitation/create", 1);
  expect(await session.request("tasks/get", about("mine"))).toMatchObject({ status: "input_required" });
  session.reply(second, accept("y"));
  expect(await session.result(request)).toMatchObject({ content: [{ type: "text" }] });
});

it("asks on the stream of the session once that of the request is gone, and leaves the task alone", async () => {
  const { server } = await startServer(tools, set);
  const streams = new FakeStreams();
  const session = await InMemorySession.open(server, { capabilities: formClient, streams });
  const request = await start(session, "mine", "ask");
  const first = await session.asked("elicitation/create");
  streams.break(request);
  streams.setStandalone(true);
  await until(session, "mine", "input_required");
  const again = await session.asked("elicitation/create", 1);
  expect(again["params"]).toEqual(first["params"]);
  session.reply(again, accept("A5"));
  await until(session, "mine", "completed");
  expect(await session.request("tasks/result", about("mine"))).toMatchObject(text("A5"));
});

it("asks another session of the same principal that polls, once the first is gone", async () => {
  const { server } = await startServer(tools, set);
  const first = await InMemorySession.open(server, { capabilities: formClient });
  await start(first, "mine", "ask");
  await first.asked("elicitation/create");
  await first.close();
  const second = await InMemorySession.open(server, { capabilities: formClient });
  await until(second, "mine", "input_required");
  const asked = await second.asked("elicitation/create");
  expect(asked["params"]).toMatchObject({ _meta: related("mine") });
  second.reply(asked, accept("A6"));
  expect(await until(second, "mine")).toMatchObject({ status: "completed" });
});

it("ends with the tool's own error where the client cannot be asked", async () => {
  const { server } = await startServer(tools, set);
  const session = await InMemorySession.open(server);
  expect(await session.result(callAs(session, { taskId: "mine" }, "ask"))).toMatchObject({ isError: true });
});

it("drops answers to questions of a cancelled task, and takes the questions back [S-069]", async () => {
  const { server, errors } = await startServer(tools, set);
  const session = await InMemorySession.open(server, { capabilities: formClient });
  const request = callAs(session, { taskId: "mine" }, "ask");
  const asked = await session.asked("elicitation/create");
  session.notify("notifications/cancelled", { requestId: request, _meta: related("mine") });
  expect(await until(session, "mine")).toMatchObject({ status: "cancelled" });
  const withdrawn = await session.asked("notifications/cancelled");
  expect(withdrawn["params"]).toMatchObject({ requestId: asked["id"], _meta: related("mine") });
  session.reply(asked, accept("late"));
  expect(await session.request("tasks/get", about("mine"))).toMatchObject({ status: "cancelled" });
  expect(errors).toEqual([]);
});

it("does not put a question to the client again that cancels its task", async () => {
  const { server } = await startServer(tools, set);
  const streams = new FakeStreams();
  streams.setStandalone(true);
  const session = await InMemorySession.open(server, { capabilities: formClient, streams });
  const request = await start(session, "mine", "two");
  await session.asked("elicitation/create", 1);
  await until(session, "mine", "input_required"); // who polls is asked on the stream of the session as well
  session.notify("notifications/cancelled", { requestId: request });
  await until(session, "mine", "cancelled");
  await session.request("ping");
  expect(session.seen.filter(({ method }) => method === "elicitation/create")).toHaveLength(2);
});
