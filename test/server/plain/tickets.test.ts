import { setImmediate } from "node:timers/promises";
import { memoryStore } from "holdfast/memory";
import { expect, it } from "vitest";
import { watchedStore } from "../../runtime/watched-store.ts";
import { FakeStreams } from "../2025-11-25/streams.ts";
import { type Message, text } from "../../kit/messages.ts";
import { InMemorySession } from "../../kit/in-memory-session.ts";
import { type StartedServer, startServer } from "../../kit/server.ts";
import { StatelessClient } from "../../kit/stateless-client.ts";
import { addConfirm, fourTools, Job, ticketOf } from "./job.ts";

const plain = { plain: "ticket", plainDeadlineMs: 20, pollingTools: fourTools } as const;
const noFields = { type: "object", properties: {} } as const;
const without = { capabilities: {} };

function tickets(job: Job): Promise<StartedServer> {
  return startServer((tasks) => {
    job.add(tasks);
    addConfirm(tasks);
  }, plain);
}

const called = (session: InMemorySession, name: string, args = {}): Promise<Message> =>
  session.result(session.call(name, args));

it("answers with a ticket at the deadline, and with the result of the tool later", async () => {
  const job = new Job();
  const { server, errors } = await tickets(job);
  const session = await InMemorySession.open(server, { version: "2025-06-18" });
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
      "job is still running (half way). Do not call job again for the same request.",
      `To get its result, call task_result with {"reference":"${reference}"}. It waits up to 1 s; if the response says that job is still running, call it again.`,
      `If the result is no longer wanted, call task_cancel with {"reference":"${reference}"}.`,
    ].join("\n"),
  );
  expect(ticketOf(await called(session, "task_result", { reference })).reference).toBe(reference);
  job.end();
  // A model may write the reference in another way.
  const typed = ` ${reference.toLowerCase().replace("-", " ")}`;
  expect(await called(session, "task_result", { reference: typed })).toEqual(text("run 1"));
  expect(await called(session, "task_result", { reference })).toEqual(text("run 1"));
  expect(job.runs).toBe(1);
  expect(errors).toEqual([]);
});

it("answers with a ticket at once with a deadline of 0", async () => {
  const job = new Job();
  const { server, errors } = await startServer((tasks) => job.add(tasks), { ...plain, plainDeadlineMs: 0 });
  const session = await InMemorySession.open(server);
  const { reference } = ticketOf(await called(session, "job"));
  expect(ticketOf(await called(session, "task_result", { reference })).reference).toBe(reference);
  job.end();
  expect(errors).toEqual([]);
});

it("does the same on 2026-07-28", async () => {
  const job = new Job();
  const peer = await StatelessClient.of({
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

it("gives callers without principal and session the whole id", async () => {
  const job = new Job();
  const peer = await StatelessClient.of({ tools: (tasks) => job.add(tasks), options: plain });
  const { reference } = ticketOf((await peer.call("job", {}, without)).result);
  expect(reference.length).toBeGreaterThan(30);
  job.end();
  expect((await peer.call("task_result", { reference }, without)).result).toMatchObject(text("run 1"));
  const unknown = await peer.call("task_result", { reference: "A2B3-C4D5" }, without);
  expect(unknown.result).toMatchObject({ isError: true });
  expect(ticketOf(unknown.result).text).not.toContain("running");
});

it("takes the answer by task_answer if the client cannot be asked", async () => {
  const { server } = await tickets(new Job());
  const session = await InMemorySession.open(server);
  const { text: asked, reference, status } = ticketOf(await called(session, "confirm"));
  expect(status).toBe("input_required");
  expect(asked).toContain("Question: Send 12 rows?");
  expect(asked).toContain('- note (required): {"type":"string","description":"What to write above"}');
  expect(asked).toContain(`call task_answer with {"reference":"${reference}","question":"ok", "answer": …}`);
  const wrong = await called(session, "task_answer", { reference, answer: { nota: "x" } });
  expect(wrong).toMatchObject({ isError: true });
  expect(ticketOf(wrong).text).toContain("- note (required)");
  expect(ticketOf(wrong).text).toMatch(/^That answer was not accepted, .* required property 'note'/);
  await called(session, "task_answer", { reference, answer: { note: "go" } });
  expect(await called(session, "task_result", { reference })).toEqual(text("sent: go"));
  expect(await called(session, "task_answer", { reference, answer: {} })).toMatchObject({ isError: true });
});

it("repeats its text as structured content, for hosts that show their model nothing else", async () => {
  const { server } = await tickets(new Job());
  const session = await InMemorySession.open(server);
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
      answer: 'an object with these fields, or "decline" or "cancel"',
    },
    next: { tool: "task_answer", arguments: { reference, question: "ok" } },
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

it("gives the prompt of a sampling question as structured content", async () => {
  const { server } = await startServer((tasks) => {
    tasks.tool("draft", { requires: ["sampling"] }, async (_args, task) => {
      const content = { type: "text", text: "Weather?" } as const;
      await task.sample("words", { messages: [{ role: "user", content }], maxTokens: 10 });
      return text("drafted");
    });
  }, plain);
  const session = await InMemorySession.open(server);
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

it("accepts a refusal, and an object that a model wrote as a JSON string", async () => {
  const { server } = await tickets(new Job());
  const session = await InMemorySession.open(server);
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

it("asks a client with forms itself, also during task_result", async () => {
  const { server } = await tickets(new Job());
  const session = await InMemorySession.open(server, {
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

it("answers task_result with questions on 2026-07-28", async () => {
  const forms = { capabilities: { elicitation: {} } };
  const peer = await StatelessClient.of({ tools: addConfirm, options: plain, http: { anonymous: "shared" } });
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

it("cancels a task, lists running ones, and lists them for an unknown reference", async () => {
  const job = new Job();
  const { server } = await tickets(job);
  const session = await InMemorySession.open(server);
  expect(ticketOf(await called(session, "task_list")).text).toBe("None of your tool calls are running.");
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
  expect(ticketOf(await called(session, "task_cancel", { reference })).text).toContain(
    "had already finished",
  );
  // The same call begins anew from now on.
  expect(ticketOf(await called(session, "job")).reference).not.toBe(reference);
});

it("takes the answer by task_result, which then waits, if there is no tool for answers", async () => {
  const { server } = await startServer(addConfirm, { plainDeadlineMs: 10_000 });
  const session = await InMemorySession.open(server);
  const { tools } = await session.request("tools/list");
  expect((tools as { name: string }[]).map(({ name }) => name)).toEqual([
    "confirm",
    "task_result",
    "task_cancel",
  ]);
  const asked = ticketOf(await called(session, "confirm"));
  const { reference } = asked;
  expect(asked.text).toContain(
    `Then call task_result with {"reference":"${reference}","question":"ok", "answer": …}, where answer is an object with the fields above, ` +
      'or "decline" or "cancel". It also waits for the result.',
  );
  expect(asked.data["next"]).toEqual({ tool: "task_result", arguments: { reference, question: "ok" } });
  // Without an answer it shows the question again, and so it does with one that does not fit.
  expect(ticketOf(await called(session, "task_result", { reference })).data).toEqual(asked.data);
  const wrong = await called(session, "task_result", { reference, answer: { nota: "x" } });
  expect(wrong).toMatchObject({ isError: true });
  expect(ticketOf(wrong).text).toMatch(/^That answer was not accepted, .* required property 'note'/);
  const answer = { note: "go" };
  expect(await called(session, "task_result", { reference, answer })).toEqual(text("sent: go"));
  // Models repeat their arguments when they ask again.
  expect(await called(session, "task_result", { reference, answer })).toEqual(text("sent: go"));
  for (const name of ["task_answer", "task_list"]) {
    expect(await session.error("tools/call", { name, arguments: { reference } })).toMatchObject({
      code: -32602,
    });
  }
});

it.each([
  ["task_result", {}],
  ["task_answer", fourTools],
])("answers no later question by a call of %s that is repeated", async (tool, pollingTools) => {
  const yes = {
    type: "object" as const,
    properties: { yes: { type: "boolean" as const } },
    required: ["yes"],
  };
  const { server } = await startServer(
    (tasks) => {
      tasks.tool("wipe", { requires: ["elicitation"] }, async (_args, task) => {
        const first = await task.elicit("first disk", { message: "Wipe A?", requestedSchema: yes });
        const second = await task.elicit("second disk", { message: "Wipe B?", requestedSchema: yes });
        return text(`${first.action}, ${second.action}`);
      });
    },
    { plainDeadlineMs: 10_000, pollingTools },
  );
  const session = await InMemorySession.open(server);
  const { reference, data } = ticketOf(await called(session, "wipe"));
  const next = (data["next"] as { arguments: object }).arguments;
  expect(next).toEqual({ reference, question: "first disk" });
  await called(session, tool, { ...next, answer: { yes: true } });
  const asked = ticketOf(await called(session, "task_result", { reference }));
  expect(asked.text).toContain("Wipe B?");
  // The client gave up on the answer to its first call, and makes it again.
  const repeated = await called(session, tool, { ...next, answer: { yes: true } });
  expect(ticketOf(repeated).data).toEqual(asked.data);
  await called(session, tool, { reference, question: "second disk", answer: "decline" });
  expect(await called(session, "task_result", { reference })).toEqual(text("accept, decline"));
});

it("takes no answer by task_result if there is a tool for answers", async () => {
  const { server } = await tickets(new Job());
  const session = await InMemorySession.open(server);
  const { reference } = ticketOf(await called(session, "confirm"));
  const refused = await called(session, "task_result", { reference, answer: { note: "go" } });
  expect(refused).toMatchObject({ isError: true });
  expect(ticketOf(refused).text).toContain("Invalid arguments for tool task_result");
  const { tools } = await session.request("tools/list");
  const listed = Object.fromEntries((tools as { name: string }[]).map((tool) => [tool.name, tool]));
  expect(listed["task_result"]).toMatchObject({ annotations: { readOnlyHint: true } });
});

it("does not say of a task that has just ended that it is still running", async () => {
  const inner = memoryStore();
  let isAnswered = false;
  const store = watchedStore(inner, async (call, id = "") => {
    if (call === "answer_inputs") isAnswered = true;
    if (call !== "snapshot" || !isAnswered) return;
    while ((await inner.get(id))?.finishedAt === null) await setImmediate();
  });
  const { server } = await startServer(
    (tasks) =>
      tasks.tool("asks", {}, async (_args, task) => {
        task.progress(1, 2, "asking");
        return text((await task.elicit("ok", { message: "Sure?", requestedSchema: noFields })).action);
      }),
    { ...plain, store },
  );
  const session = await InMemorySession.open(server, { capabilities: {} });
  const { reference } = ticketOf(await called(session, "asks"));
  const ended = ticketOf(await called(session, "task_answer", { reference, answer: {} }));
  expect(ended).toMatchObject({
    text: `asks has ended. To get its result, call task_result with {"reference":"${reference}"}.`,
    status: "completed",
  });
  expect(ended.data).not.toHaveProperty("statusMessage");
  expect(await called(session, "task_result", { reference })).toEqual(text("accept"));
});
