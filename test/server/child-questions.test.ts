import type { Tasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { expect, it } from "vitest";
import { questionKeyMeta } from "../../src/generation/extensions.ts";
import { folder } from "../cli/run-cli.ts";
import { runMain } from "../cli/run-main.ts";
import { type Message, formClient, related, text } from "../kit/messages.ts";
import { InMemorySession } from "../kit/in-memory-session.ts";
import { serve, startServer } from "../kit/server.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { Subscription } from "../kit/subscription.ts";
import { accept, form } from "./prepare-caller.ts";
import { fourTools, ticketOf } from "./plain/job.ts";
import { about, callAs, related as sepRelated } from "./sep-1686/sep.ts";

/** `root` asks by a task below it, and by one below that. */
function tools(tasks: Tasks): void {
  tasks.tool("asks", {}, async ({ who }, task) => {
    const { content } = await task.elicit("name", form(`Name of the ${String(who)}?`));
    return text(String(content?.["name"]));
  });
  tasks.tool("between", {}, (_, task) => task.call("below", "asks", { who: "dog" }));
  tasks.tool("root", {}, async (_, task) => {
    const [cat, dog] = await Promise.all([
      task.call("first", "asks", { who: "cat" }),
      task.call("second", "between"),
    ]);
    return text(JSON.stringify([cat.content, dog.content]));
  });
}

const ended = text(JSON.stringify([text("Tom").content, text("Rex").content]));
const names: Readonly<Record<string, string>> = { "Name of the cat?": "Tom", "Name of the dog?": "Rex" };
const options = { rates: { pollsPerInterval: null, maxLoopDelayMs: null } };

const answerTo = (message: string): object => accept(names[message] ?? "nobody");

/** Answers to all questions of an `inputRequests` or a result with such. */
function answersTo(inputRequests: unknown): Record<string, object> {
  const asked = Object.entries(inputRequests as Record<string, { params: { message: string } }>);
  return Object.fromEntries(asked.map(([key, { params }]) => [key, answerTo(params.message)]));
}

async function idsBelow(store: ReturnType<typeof memoryStore>): Promise<string[]> {
  const all = await store.unfinished("", 9);
  return all.filter(({ parent }) => parent !== null).map(({ id }) => id);
}

it("are those of the root in 2026-07-28, whose client sees no other task", async () => {
  const store = memoryStore();
  const { http, errors } = await serve({ tools, options: { ...options, store } });
  const peer = new StatelessClient(http.url);
  const taskId = await peer.start("root");
  let task = await peer.until(taskId, "input_required");
  while (Object.keys(task["inputRequests"] as object).length < 2) task = await peer.get(taskId);
  const below = await idsBelow(store);
  expect(below).toHaveLength(3);
  for (const id of below) {
    for (const method of ["tasks/get", "tasks/cancel"])
      expect((await peer.send(method, { taskId: id })).error?.code).toBe(-32602);
    const inputResponses = { name: answerTo("Name of the cat?") };
    expect((await peer.send("tasks/update", { taskId: id, inputResponses })).error?.code).toBe(-32602);
  }
  const listener = await Subscription.to(http.url, { taskIds: [taskId, ...below] });
  expect(await listener.next()).toMatchObject({ params: { notifications: { taskIds: [taskId] } } });
  await listener.leave();
  await peer.result("tasks/update", { taskId, inputResponses: answersTo(task["inputRequests"]) });
  expect(await peer.ended(taskId)).toMatchObject({ status: "completed", result: ended });
  expect(errors).toEqual([]);
});

it("are those of the root in 2025-11-25, whose client sees no other task", async () => {
  const store = memoryStore();
  const { server, errors } = await startServer(tools, { ...options, store });
  const session = await InMemorySession.open(server, { capabilities: formClient });
  const taskId = await session.start("root");
  const asked = [await session.asked("elicitation/create"), await session.asked("elicitation/create", 1)].map(
    (request) => ({ request, params: request["params"] as Message & { _meta: Message; message: string } }),
  );
  const below = await idsBelow(store);
  for (const { params } of asked) {
    expect(params._meta).toEqual({ ...related(taskId), [questionKeyMeta]: expect.any(String) as string });
  }
  for (const id of below) {
    for (const method of ["tasks/get", "tasks/result", "tasks/cancel"])
      expect(await session.answerTo(session.begin(method, { taskId: id }))).toMatchObject({
        error: { code: -32602 },
      });
  }
  expect(await session.request("tasks/list")).toMatchObject({
    tasks: [{ taskId, status: "input_required" }],
  });
  for (const { request, params } of asked) session.reply(request, answerTo(params.message));
  expect(await session.request("tasks/result", { taskId })).toMatchObject(ended);
  expect(errors).toEqual([]);
});

it("are those of the root in SEP-1686, whose client sees no other task", async () => {
  const store = memoryStore();
  const { server, errors } = await startServer(tools, { ...options, store });
  const session = await InMemorySession.open(server, { capabilities: formClient, version: "2025-06-18" });
  const request = callAs(session, { taskId: "mine" }, "root");
  const asked = [await session.asked("elicitation/create"), await session.asked("elicitation/create", 1)];
  for (const id of await idsBelow(store))
    expect(await session.answerTo(session.begin("tasks/get", about(id)))).toMatchObject({
      error: { code: -32602 },
    });
  for (const question of asked) {
    const { message, _meta } = question["params"] as { message: string; _meta: object };
    expect(_meta).toMatchObject(sepRelated("mine"));
    session.reply(question, answerTo(message));
  }
  expect(await session.result(request)).toMatchObject(ended);
  expect(errors).toEqual([]);
});

it("are put on the call of a client without tasks in a session", async () => {
  const { server, errors } = await startServer(tools, options);
  const session = await InMemorySession.open(server, { capabilities: formClient });
  const call = session.call("root");
  for (const nth of [0, 1]) {
    const asked = await session.asked("elicitation/create", nth);
    expect(session.sentOn.get(asked["id"])).toBe(call);
    session.reply(asked, answerTo((asked["params"] as { message: string }).message));
  }
  expect(await session.result(call)).toMatchObject(ended);
  expect(errors).toEqual([]);
});

it("are put in rounds of a call of a client without tasks in 2026-07-28", async () => {
  const { http, errors } = await serve({ tools, options });
  const peer = new StatelessClient(http.url);
  const forms = { capabilities: { elicitation: {} } };
  let { result } = await peer.call("root", {}, forms);
  for (let round = 0; result?.["resultType"] === "input_required"; round++) {
    expect(round).toBeLessThan(3);
    const { inputRequests, requestState } = result;
    const params = { name: "root", arguments: {}, requestState, inputResponses: answersTo(inputRequests) };
    ({ result } = await peer.send("tools/call", params, forms));
  }
  expect(result).toMatchObject(ended);
  expect(errors).toEqual([]);
});

it("are put by a ticket, and answered with the polling tool", async () => {
  const plain = { plain: "ticket", plainDeadlineMs: 20, pollingTools: fourTools } as const;
  const { server, errors } = await startServer(tools, { ...options, ...plain });
  const session = await InMemorySession.open(server);
  const called = (name: string, args: object): Promise<Message> => session.result(session.call(name, args));
  let ticket = ticketOf(await called("root", {}));
  const { reference } = ticket;
  for (let answers = 0; answers < 2;) {
    const question = ticket.data["question"] as { message: string } | undefined;
    if (question === undefined) {
      ticket = ticketOf(await called("task_result", { reference }));
      continue;
    }
    const next = ticket.data["next"] as { tool: string; arguments: object };
    expect(next.tool).toBe("task_answer");
    const answer = { name: names[question.message] };
    ticket = ticketOf(await called("task_answer", { ...next.arguments, answer }));
    answers++;
  }
  let result: { readonly structuredContent?: { readonly status?: string } };
  do result = await called("task_result", { reference });
  while (result.structuredContent?.status === "working");
  expect(result).toEqual(ended);
  expect(errors).toEqual([]);
});

it("are answered from the command line by their keys", async () => {
  const { http } = await serve({ tools, options, http: { anonymous: "shared" } });
  const state = await folder();
  const env = { HOLDFAST_STATE: state };
  const run = (...args: string[]): ReturnType<typeof runMain> => runMain(args, { env });
  const taskId = (await run("call", http.url, "root", "--detach")).stdout.trim();
  type Questions = { readonly key: string; readonly params: { readonly message: string } }[];
  let questions: Questions = [];
  while (questions.length < 2) {
    const { stdout } = await run("get", taskId, "--json");
    ({ questions = [] } = JSON.parse(stdout) as { questions?: Questions });
  }
  for (const { key, params } of questions) {
    const pair = `name=${names[params.message] ?? ""}`;
    expect(await run("answer", taskId, pair, "--question", key)).toMatchObject({ code: 0 });
  }
  expect(await run("result", taskId)).toMatchObject({ code: 0, stdout: `${ended.content[0]?.text ?? ""}\n` });
}, 60_000);
