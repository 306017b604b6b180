import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { expect, it } from "vitest";
import * as z from "zod";
import { FakeStreams } from "../2025-11-25/streams.ts";
import { house, Session, type House, type Message } from "../2025-11-25/session.ts";
import { Peer, serve, tasksExtension, text } from "../peer.ts";
import { addConfirm, Job, ticketOf } from "./job.ts";

const plain = { plain: "ticket", plainDeadlineMs: 20 } as const;
const without = { capabilities: {} };

function tickets(job: Job): Promise<House> {
  return house((tasks) => {
    job.add(tasks);
    addConfirm(tasks);
  }, plain);
}

const called = (session: Session, name: string, args = {}): Promise<Message> =>
  session.result(session.call(name, args));

it("answers with a ticket in time, and with the real result later, as the tool would have", async () => {
  const job = new Job();
  const { server, errors } = await tickets(job);
  const session = await Session.open(server, { version: "2025-06-18" });
  const first = ticketOf(await called(session, "job"));
  expect(first.data).toEqual({
    text: first.text,
    reference: expect.stringMatching(/^[2-9A-Z]{4}-[2-9A-Z]{4}$/) as unknown,
    status: "working",
    statusMessage: "half way",
    pollAfterMs: 1_000,
    next: { tool: "task_result", arguments: { reference: first.reference } },
  });
  const { reference } = first;
  expect(first.text).toBe(
    [
      "job is still running (half way). Do not call job again for this.",
      `To get its result, call task_result with {"reference":"${reference}"}. It waits up to 1 seconds; call it again as long as the answer says that it is still running.`,
      `Only to stop it, call task_cancel with {"reference":"${reference}"}.`,
    ].join("\n"),
  );
  expect(ticketOf(await called(session, "task_result", { reference })).reference).toBe(reference);
  job.end();
  // However a model writes it.
  const typed = ` ${reference.toLowerCase().replace("-", " ")}`;
  expect(await called(session, "task_result", { reference: typed })).toEqual(text("run 1"));
  expect(await called(session, "task_result", { reference })).toEqual(text("run 1"));
  expect(job.runs).toBe(1);
  expect(errors).toEqual([]);
});

it("can answer at once", async () => {
  const job = new Job();
  const { server, errors } = await house((tasks) => job.add(tasks), { ...plain, plainDeadlineMs: 0 });
  const session = await Session.open(server);
  const { reference } = ticketOf(await called(session, "job"));
  expect(ticketOf(await called(session, "task_result", { reference })).reference).toBe(reference);
  job.end();
  expect(errors).toEqual([]);
});

it("does the same on 2026-07-28", async () => {
  const job = new Job();
  const peer = await Peer.of({
    tools: (tasks) => job.add(tasks),
    options: plain,
    http: { anonymous: "shared" },
  });
  const { result } = await peer.call("job", {}, without);
  expect(result).toMatchObject({ resultType: "complete" });
  const { reference } = ticketOf(result);
  const again = await peer.call("task_result", { reference }, without);
  expect(ticketOf(again.result).reference).toBe(reference);
  job.end();
  expect((await peer.call("task_result", { reference }, without)).result).toMatchObject({
    resultType: "complete",
    ...text("run 1"),
  });
});

it("gives callers of whom nothing is known the whole id", async () => {
  const job = new Job();
  const peer = await Peer.of({ tools: (tasks) => job.add(tasks), options: plain });
  const { reference } = ticketOf((await peer.call("job", {}, without)).result);
  expect(reference.length).toBeGreaterThan(30);
  job.end();
  expect((await peer.call("task_result", { reference }, without)).result).toMatchObject(text("run 1"));
  const unknown = await peer.call("task_result", { reference: "A2B3-C4D5" }, without);
  expect(unknown.result).toMatchObject({ isError: true });
  expect(ticketOf(unknown.result).text).not.toContain("running");
});

it("lists companions to clients without tasks only, and promises them no form of a ticket", async () => {
  const outputSchema = z.object({ done: z.boolean() });
  const { http } = await serve({
    tools: (tasks) => {
      tasks.tool("typed", { outputSchema }, () => ({ content: [], structuredContent: { done: true } }));
      tasks.tool("waits", { outputSchema, plain: "wait" }, () => ({
        content: [],
        structuredContent: { done: true },
      }));
    },
    options: plain,
    http: { anonymous: "shared" },
  });
  const peer = new Peer(http.url);
  const list = async (capabilities: object): Promise<Record<string, unknown>> =>
    peer.result("tools/list", {}, { capabilities });
  const speaks = await list({ extensions: tasksExtension });
  expect(speaks["tools"]).toMatchObject([
    { name: "typed", outputSchema: {} },
    { name: "waits", outputSchema: {} },
  ]);
  expect(speaks["tools"]).toHaveLength(2);
  const { tools, cacheScope } = await list({});
  expect(cacheScope).toBe("private");
  expect((tools as { name: string }[]).map(({ name }) => name)).toEqual([
    "typed",
    "waits",
    "task_result",
    "task_cancel",
    "task_answer",
    "task_list",
  ]);
  expect((tools as object[])[0]).not.toHaveProperty("outputSchema");
  expect((tools as object[])[1]).toHaveProperty("outputSchema");
  // Nor can they be called by others.
  const { error } = await peer.call("task_list", {}, { capabilities: { extensions: tasksExtension } });
  expect(error).toMatchObject({ code: -32602, message: "Tool task_list not found" });
});

it("leaves the list as it is where no tool has tickets", async () => {
  const peer = await Peer.of({ tools: (tasks) => new Job().add(tasks) });
  const { tools, cacheScope } = await peer.result("tools/list", {}, without);
  const { tools: others, cacheScope: othersScope } = await peer.result("tools/list");
  expect([tools, cacheScope]).toEqual([others, othersScope]);
});

it("takes a session for one without tasks until it asks for a task", async () => {
  const job = new Job();
  const { server } = await tickets(job);
  const names = async (session: Session): Promise<string[]> => {
    const { tools } = await session.request("tools/list");
    return (tools as { name: string }[]).map(({ name }) => name).filter((name) => name.startsWith("task_"));
  };
  const companions = ["task_result", "task_cancel", "task_answer", "task_list"];
  expect(await names(await Session.open(server, { capabilities: { tasks: {} } }))).toEqual([]);
  const session = await Session.open(server);
  expect(await names(session)).toEqual(companions);
  await session.start("job");
  expect(await names(session)).toEqual([]);
  expect(await session.error("tools/call", { name: "task_list", arguments: {} })).toMatchObject({
    code: -32602,
    message: "Tool task_list not found",
  });
  // Revisions without tasks have none, whatever is declared or asked for there.
  const older = await Session.open(server, { version: "2025-06-18", capabilities: { tasks: {} } });
  expect(await names(older)).toEqual(companions);
  job.end();
});

it("shows clients that speak tasks the list that they would see without tickets, and tells nobody that lists changed", async () => {
  const list = async (policy: "wait" | "ticket"): Promise<unknown> => {
    const { server } = await house(
      (tasks) => tasks.tool("typed", { outputSchema: z.object({}) }, () => text("a")),
      { plain: policy },
    );
    const session = await Session.open(server, { capabilities: { tasks: {} } });
    const { tools } = await session.request("tools/list");
    await session.start("typed");
    await session.request("tools/list");
    expect(session.requests("notifications/tools/list_changed")).toEqual([]);
    return tools;
  };
  expect(await list("ticket")).toEqual(await list("wait"));
});

it("has task_answer answer where the client cannot be asked", async () => {
  const { server } = await tickets(new Job());
  const session = await Session.open(server);
  const { text: asked, reference, status } = ticketOf(await called(session, "confirm"));
  expect(status).toBe("input_required");
  expect(asked).toContain("Question: Send 12 rows?");
  expect(asked).toContain('- note (required): {"type":"string","description":"What to write above"}');
  expect(asked).toContain(`call task_answer with {"reference":"${reference}", "answer": …}`);
  const wrong = await called(session, "task_answer", { reference, answer: { nota: "x" } });
  expect(wrong).toMatchObject({ isError: true });
  expect(ticketOf(wrong).text).toContain("- note (required)");
  expect(ticketOf(wrong).text).toMatch(/^That does not answer the question, .* required property 'note'/);
  await called(session, "task_answer", { reference, answer: { note: "go" } });
  expect(await called(session, "task_result", { reference })).toEqual(text("sent: go"));
  expect(await called(session, "task_answer", { reference, answer: {} })).toMatchObject({ isError: true });
});

it("says all that its text says as structured content, for hosts that show their model nothing else", async () => {
  const { server } = await tickets(new Job());
  const session = await Session.open(server);
  const asked = ticketOf(await called(session, "confirm"));
  const { reference } = asked;
  expect(asked.data).toEqual({
    text: asked.text,
    reference,
    status: "input_required",
    pollAfterMs: 1_000,
    question: {
      message: "Send 12 rows?",
      fields: [
        { name: "note", required: true, schema: { type: "string", description: "What to write above" } },
      ],
      answer: 'an object of the fields, or "decline" or "cancel"',
    },
    next: { tool: "task_answer", arguments: { reference } },
  });
  const looked = ticketOf(await called(session, "task_result", { reference }));
  expect(looked.data).toEqual(asked.data);
  const answered = ticketOf(await called(session, "task_answer", { reference, answer: "decline" }));
  expect(answered.data).toMatchObject({
    text: answered.text,
    next: { tool: "task_result", arguments: { reference } },
  });
  expect(answered.data).not.toHaveProperty("question");
});

it("says the prompt of a question to the model as data too", async () => {
  const { server } = await house((tasks) => {
    tasks.tool("draft", { requires: ["sampling"] }, async (_args, task) => {
      const content = { type: "text", text: "Weather?" } as const;
      await task.sample("words", { messages: [{ role: "user", content }], maxTokens: 10 });
      return text("drafted");
    });
  }, plain);
  const session = await Session.open(server);
  expect(ticketOf(await called(session, "draft")).data).toMatchObject({
    question: {
      message: "Write the next message.",
      prompt: "user: Weather?",
      fields: [],
      answer: 'your message as a string, or "decline"',
    },
    next: { tool: "task_answer" },
  });
});

it("takes a refusal, and an object that a model wrote as a text", async () => {
  const { server } = await tickets(new Job());
  const session = await Session.open(server);
  for (const [answer, expected] of [
    ["decline", "decline"],
    ["cancel", "cancel"],
    ['{"note":"x"}', "sent: x"],
  ]) {
    const { reference } = ticketOf(await called(session, "confirm"));
    await called(session, "task_answer", { reference, answer });
    expect(await called(session, "task_result", { reference })).toEqual(text(expected ?? ""));
  }
});

it("asks a client with forms itself, during task_result too", async () => {
  const { server } = await tickets(new Job());
  const session = await Session.open(server, {
    capabilities: { elicitation: {} },
    streams: new FakeStreams(),
  });
  const { reference } = ticketOf(await called(session, "confirm"));
  expect(session.requests("elicitation/create")[0]?.["params"]).not.toHaveProperty("_meta");
  const waiting = session.call("task_result", { reference });
  const question = await session.message(
    (message) => message["method"] === "elicitation/create" && session.sentOn.get(message["id"]) === waiting,
  );
  session.reply(question, { action: "accept", content: { note: "form" } });
  expect(await session.result(waiting)).toEqual(text("sent: form"));
  expect(session.requests("notifications/tasks/status")).toEqual([]);
});

it("asks by rounds during task_result on 2026-07-28", async () => {
  const forms = { capabilities: { elicitation: {} } };
  const peer = await Peer.of({ tools: addConfirm, options: plain, http: { anonymous: "shared" } });
  await peer.call("confirm", {}, forms);
  const reference = (
    (await peer.result("tools/call", { name: "task_list", arguments: {} }, forms))["structuredContent"] as {
      tasks: { reference: string }[];
    }
  ).tasks[0]?.reference;
  const params = { name: "task_result", arguments: { reference } };
  const { requestState, inputRequests } = await peer.result("tools/call", params, forms);
  expect(Object.keys(inputRequests as object)).toEqual(["ok"]);
  const inputResponses = { ok: { action: "accept", content: { note: "round" } } };
  expect(await peer.result("tools/call", { ...params, requestState, inputResponses }, forms)).toMatchObject(
    text("sent: round"),
  );
});

it("stops what is not wanted, lists what runs, and shows it to who lost the reference", async () => {
  const job = new Job();
  const { server } = await tickets(job);
  const session = await Session.open(server);
  expect(ticketOf(await called(session, "task_list")).text).toBe("None of your tool calls is running.");
  const { reference } = ticketOf(await called(session, "job"));
  const line = `- ${reference}: job, working (half way)`;
  const listed = ticketOf(await called(session, "task_list"));
  expect(listed.text).toBe(line);
  expect(listed.data).toEqual({
    text: line,
    tasks: [
      {
        reference,
        tool: "job",
        status: "working",
        statusMessage: "half way",
        next: { tool: "task_result", arguments: { reference } },
      },
    ],
  });
  const unknown = await called(session, "task_result", { reference: "job-1" });
  expect(unknown).toMatchObject({ isError: true });
  expect(ticketOf(unknown).text).toContain(line);
  await called(session, "task_cancel", { reference });
  await job.stopped.promise;
  expect(await called(session, "task_result", { reference })).toMatchObject({ isError: true });
  expect(ticketOf(await called(session, "task_cancel", { reference })).text).toContain("had ended before");
  // The same call is a new one from now on.
  expect(ticketOf(await called(session, "job")).reference).not.toBe(reference);
});

it("refuses names that are taken, at the start and on an author's server", async () => {
  const withTool = (name: string, companions = {}): Promise<House> =>
    house((tasks) => tasks.tool(name, {}, () => text("a")), { ...plain, companions });
  await expect(withTool("task_list")).rejects.toMatchObject({ code: "configuration" });
  await expect(withTool("fetch_it", { result: "fetch_it" })).rejects.toMatchObject({ code: "configuration" });
  await expect(withTool("a", { result: "same", cancel: "same" })).rejects.toMatchObject({
    code: "configuration",
  });
  const { server, errors } = await house(
    (tasks) => tasks.tool("job", {}, () => text("a")),
    plain,
    (mcp) => void mcp.registerTool("task_answer", {}, () => text("own")),
  );
  await expect(server.create({ era: "legacy" }, { principal: "ann" })).rejects.toMatchObject({
    code: "configuration",
    message: expect.stringContaining("companions.answer") as unknown,
  });
  expect(errors).toHaveLength(1);
});

it.each([
  { result: "a", cancel: "a" },
  { result: "task_list" },
  { result: "toString" },
  { result: "" },
  { result: 5 },
  { result: null },
  { result: "get result" },
  { results: "fetch_result" },
])("refuses companions' names that are none: %j", (companions) => {
  expect(() => createTasks({ store: memoryStore(), companions: companions as object })).toThrow(
    "a name of its own",
  );
});

it("takes a name that is left undefined for the usual one", async () => {
  const companions = { result: undefined } as object;
  const peer = await Peer.of({
    tools: (tasks) => new Job().add(tasks, { plain: "ticket" }),
    options: { companions },
  });
  const { tools } = await peer.result("tools/list", {}, { capabilities: {} });
  expect((tools as { name: string }[]).map(({ name }) => name)).toContain("task_result");
});

it("calls the companions what their author calls them", async () => {
  const job = new Job();
  const { server } = await house((tasks) => job.add(tasks), { ...plain, companions: { result: "fetch_it" } });
  const session = await Session.open(server);
  const { text: said, reference } = ticketOf(await called(session, "job"));
  expect(said).toContain(`call fetch_it with {"reference":"${reference}"}`);
  job.end();
  expect(await called(session, "fetch_it", { reference })).toEqual(text("run 1"));
});
