import { testTasks } from "holdfast/testing";
import { expect, it, onTestFinished, vi } from "vitest";
import { command } from "../../src/serve/command/command.ts";
import { refusalOf, type Approval } from "../../src/serve/approval.ts";
import { serveTools } from "../../src/serve/serve-tools.ts";
import type { SourceTool, ToolSource } from "../../src/serve/source.ts";
import type { Tasks } from "../../src/server/tasks.ts";
import { InMemorySession } from "../kit/in-memory-session.ts";
import { createEventHandler } from "holdfast/http";
import type { TasksOptions } from "holdfast";
import { memoryDatabase, memoryStore } from "holdfast/memory";
import { startServer, type StartedServer } from "../kit/server.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { service } from "./openapi/jobs.ts";
import { ticketOf } from "../server/plain/job.ts";

vi.setConfig({ testTimeout: 10_000 });

const echo = (approval: Approval) =>
  command("echo", {
    inputSchema: { properties: { word: { type: "string", default: "all" }, note: { type: "string" } } },
    run: ["echo", "--", "{word}"],
    approval,
  });

it("asks the user before a call, and runs nothing unless they agree", async () => {
  await using t = await testTasks(
    (tasks) => serveTools(tasks, [echo({ by: "user", message: "Say {word}?" })]),
    {
      patienceMs: 10_000,
      settleMs: 10_000,
    },
  );
  const asked: string[] = [];
  const answered = (approve: boolean) => () => ({ action: "accept", content: { approve } }) as const;
  t.answers({
    approval: (question) => {
      asked.push((question as { message: string }).message);
      return answered(true)();
    },
  });
  expect(await t.call("echo", { word: "hi" })).toMatchObject({ content: [{ text: "-- hi" }] });
  expect(asked).toEqual(["Say hi?"]);
  for (const answer of [answered(false)(), { action: "decline" } as const]) {
    t.answers({ approval: answer });
    const task = await t.start("echo", { word: "hi" });
    expect(await task.result()).toMatchObject({
      isError: true,
      content: [{ text: "echo was not called: the user did not approve it." }],
    });
    expect((await task.journal()).map(({ key }) => key)).toEqual(["approval-question", "approval"]);
  }
});

it("lets operators alone decide, and says who did", async () => {
  let tasks: Tasks | undefined;
  const peer = await StatelessClient.of({
    tools(made) {
      tasks = made;
    },
  });
  if (tasks === undefined) throw new Error("never made");
  await serveTools(tasks, [echo({ by: "operator" })]);
  const id = await peer.start("echo", { word: "hi" });
  const { admin } = tasks;
  await vi.waitUntil(async () => (await admin.show(id)).questions.length === 1);
  const shown = await peer.until(id, "working");
  expect(shown).toMatchObject({ statusMessage: expect.stringMatching(/^Waits for an operator/) });
  expect(shown).not.toHaveProperty("inputRequests");
  const answers = { approval: { action: "accept", content: { approve: true } } };
  const refused = await peer.send("tasks/update", { taskId: id, inputResponses: answers });
  expect(refused.error).toMatchObject({ message: expect.stringMatching(/for those who operate the server/) });
  await admin.as("ann").answer(id, answers);
  expect(await peer.ended(id)).toMatchObject({ result: { content: [{ text: "-- hi" }] } });
  expect(await admin.actions({ taskId: id })).toMatchObject([{ action: "answer", actor: "ann" }]);
});

const yes = { approval: { action: "accept", content: { approve: true } } } as const;
const said = { content: [{ text: "-- hi" }] };

async function serving(approval: Approval, options: Partial<TasksOptions> = {}): Promise<StartedServer> {
  const started = await startServer(() => undefined, options);
  await serveTools(started.tasks, [echo(approval)]);
  return started;
}

/** The task that waits for its approval. */
async function waiting({ admin }: Tasks): Promise<string> {
  const first = async (): Promise<string | undefined> =>
    (await admin.list({ waitsFor: ["question"] })).tasks[0]?.id;
  return vi.waitUntil(first, { timeout: 10_000 });
}

it("asks operators also about a call without a task, of a client with tasks that cannot be asked", async () => {
  const { server, tasks } = await serving({ by: "operator" });
  const ann = tasks.admin.as("ann");
  for (const capabilities of [{}, { elicitation: {} }]) {
    const session = await InMemorySession.open(server, { capabilities });
    await session.start("echo", { word: "hi" });
    await ann.answer(await waiting(tasks), yes);
    const call = session.call("echo", { word: "hi" });
    const id = await waiting(tasks);
    await ann.answer(id, yes);
    expect(await session.result(call)).toMatchObject(said);
    expect(await tasks.admin.actions({ taskId: id })).toMatchObject([{ actor: "ann" }]);
    expect(session.requests("elicitation/create")).toEqual([]);
  }
});

it("shows no client a question for operators of a run without a task", async () => {
  const { server } = await startServer((tasks) =>
    tasks.tool("pass", { task: "forbidden" }, async (_args, task) => {
      await refusalOf({ by: "operator" }, "pass", {}, task);
      return { content: [] };
    }),
  );
  const session = await InMemorySession.open(server, { capabilities: { elicitation: {} } });
  expect(await session.error("tools/call", { name: "pass" })).toMatchObject({
    message: expect.stringMatching(/has no task, so operators cannot see its questions/),
  });
  expect(session.requests("elicitation/create")).toEqual([]);
});

it.each<[string, SourceTool["config"], unknown, RegExp]>([
  ["have no task", { task: "forbidden" }, { by: "user" }, /: a call waits for its approval as a task/],
  [
    "begin before there is a task",
    { prepare: () => ({ prepared: 1 }) },
    { by: "user" },
    /: prepare begins the call before its approval/,
  ],
  ["nobody can approve", {}, { by: "boss" }, /: by must be "user" or "operator", not "boss"/],
  ["users approve, by a link", {}, { by: "user", link: { notify: "https://x.example/" } }, /operators/],
  ["have a link that goes nowhere", {}, { by: "operator", link: { notify: "x" } }, /: notify must be an/],
  [
    "have a link that leads nowhere",
    {},
    { by: "operator", link: { notify: "https://x.example/" } },
    /: a link leads to this server, which does not know where it is reached/,
  ],
])("is not for tools whose calls %s", async (_, config, approval, problem) => {
  const source: ToolSource = {
    name: "mcp search",
    async open(host) {
      const handler = async () => ({ content: [] });
      host.setTools([{ name: "find", config, handler, approval: approval as Approval }]);
      return { close: async () => undefined };
    },
  };
  const { tasks } = await startServer(() => undefined);
  const refusal = { code: "configuration", message: expect.stringMatching(problem) };
  await expect(serveTools(tasks, [source])).rejects.toMatchObject(refusal);
});

it("names only arguments that the tool has", async () => {
  const { tasks } = await startServer(() => undefined);
  const served = serveTools(tasks, [echo({ by: "user", message: "Say {wrod}?" })]);
  await expect(served).rejects.toThrow(/The approval of tool "echo": \{wrod\} names no argument/);
});

it("lets no model approve in place of the user", async () => {
  const { server, tasks } = await serving({ by: "user", message: "Say {word}?" }, { plainDeadlineMs: 0 });
  const answer = { question: "approval", answer: { approve: true } };
  for (const elicitation of [undefined, {}]) {
    const session = await InMemorySession.open(server, { capabilities: { elicitation } });
    const { reference } = ticketOf(await session.result(session.call("echo", { word: "hi" })));
    const id = await waiting(tasks);
    for (const named of [answer, { answer: answer.answer }])
      expect(await session.request("tools/call", calling({ reference, ...named }))).toMatchObject({
        isError: true,
        content: [{ text: expect.stringMatching(/only people can answer it/) }],
      });
    const ticket = ticketOf(await session.request("tools/call", calling({ reference })));
    expect(ticket.data).not.toHaveProperty("question");
    expect(ticket.text).toMatch(/an operator of the server approves the call: Say hi\?/);
    await tasks.admin.as("ann").answer(id, yes);
    const hasEnded = async (): Promise<boolean> => (await tasks.admin.show(id)).state === "completed";
    await vi.waitUntil(hasEnded, { timeout: 10_000 });
    expect(await session.request("tools/call", calling({ reference }))).toMatchObject(said);
  }
});

const calling = (args: object) => ({ name: "task_result", arguments: args });

it("asks what was asked first, also after the approval was changed", async () => {
  let approval: Approval = { by: "user", message: "Say {word}{note}?" };
  await using t = await testTasks((tasks) => serveTools(tasks, [echo(approval)]), {
    patienceMs: 10_000,
    settleMs: 10_000,
  });
  const task = await t.start("echo", {});
  expect(await task.question("approval")).toMatchObject({ params: { message: "Say all?" } });
  approval = { by: "operator", message: "Really?" };
  await t.restart();
  await task.answer("approval", yes.approval);
  expect(await task.result()).toMatchObject({ content: [{ text: "-- all" }] });
});

it("shows arguments as they are, whatever braces they have", async () => {
  await using t = await testTasks((tasks) => serveTools(tasks, [echo({ by: "user" })]), {
    patienceMs: 10_000,
    settleMs: 10_000,
  });
  const task = await t.start("echo", { word: "{note}", note: "hi" });
  const message = 'Call echo with {"word":"{note}","note":"hi"}?';
  expect(await task.question("approval")).toMatchObject({ params: { message } });
});

it("records who decided by a link, and what was decided first counts", async () => {
  const { url, received } = await service((_, response) => void response.writeHead(202).end());
  const link = { notify: url, allow: ["127.0.0.1"] };
  const { server, tasks } = await serving(
    { by: "operator", link },
    { eventsUrl: "https://tools.example/events" },
  );
  const events = createEventHandler(tasks);
  const session = await InMemorySession.open(server, { capabilities: {} });
  /** Calls the tool. Gives its task, and presses a button of the page that the link leads to. */
  const called = async (note = "") => {
    const seen = received.length;
    const call = session.call("echo", { word: "hi", note });
    await vi.waitUntil(() => received.length > seen, { timeout: 10_000 });
    const { task, link: address } = JSON.parse(received.at(-1)?.body ?? "") as Record<string, string>;
    const press = async (approve: boolean): Promise<string> =>
      (await events.fetch(new Request(`${address}?approve=${approve}`, { method: "POST" }))).text();
    const actions = async () => tasks.admin.actions({ taskId: task ?? "" });
    const page = async (): Promise<string> => (await events.fetch(new Request(address ?? ""))).text();
    return { call, id: task ?? "", press, actions, page };
  };
  const one = await called(`${"harmless ".repeat(1_000)}PRODUCTION`);
  expect(await one.page()).toContain("PRODUCTION"); // nobody approves what they were not shown
  expect(await one.press(true)).toContain("Approved. The call goes on.");
  expect(await session.result(one.call)).toMatchObject(said);
  expect(await one.actions()).toMatchObject([{ action: "answer", actor: `link to ${new URL(url).host}` }]);
  const other = await called();
  // All at once: the page says what counts, also to whoever was a moment too late.
  const answered = tasks.admin.as("ann").answer(other.id, yes);
  const pages = await Promise.all([other.press(false), other.press(true)]);
  await answered.catch(() => undefined); // it may be too late
  const isApproved = !("isError" in (await session.result(other.call)));
  const actors = (await other.actions()).map(({ actor }) => actor);
  const mine = /^(?:Approved\. |Declined\. )/;
  const texts = pages.map((page) => /<p[^>]*>([^<]*)/.exec(page)?.[1] ?? "");
  const counts = `This was ${isApproved ? "approved" : "declined"} before, and that counts`;
  expect(texts.filter((text) => !mine.test(text) && !text.startsWith(counts))).toEqual([]);
  const won = texts.filter((text) => mine.test(text)).length;
  expect(actors).toEqual(won === 1 ? [`link to ${new URL(url).host}`] : ["ann"]);
});

it("takes nothing from a link whose time is over, also where no process has ended the wait, and ends none because the clock is set ahead", async () => {
  const { url, received } = await service((_, response) => void response.writeHead(202).end());
  const link = { notify: url, allow: ["127.0.0.1"], timeoutMs: "1h" } as const;
  const database = memoryDatabase();
  const shared = (): Partial<TasksOptions> & Pick<TasksOptions, "store"> => ({
    store: memoryStore(database),
    eventsUrl: "https://tools.example/events",
  });
  const { server, tasks } = await serving({ by: "operator", link }, shared());
  const session = await InMemorySession.open(server, { capabilities: {} });
  session.call("echo", { word: "hi" });
  await vi.waitUntil(() => received.length > 0, { timeout: 10_000 });
  const { task, link: address } = JSON.parse(received[0]?.body ?? "") as { task: string; link: string };
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_600_000 });
  onTestFinished(() => void vi.useRealTimers());
  const press = async (pressed: Tasks): Promise<readonly [number, string]> => {
    const request = new Request(`${address}?approve=true`, { method: "POST" });
    const answer = await createEventHandler(pressed).fetch(request);
    return [answer.status, await answer.text()];
  };
  const { tasks: without } = await startServer(() => undefined, shared());
  expect(await press(without)).toEqual([410, expect.stringContaining("It is too late")]);
  expect((await tasks.admin.show(task)).questions).toHaveLength(1);
  // This process has seen how the clock was set: for it, none of the hour has passed.
  expect(await press(tasks)).toEqual([200, expect.stringContaining("Approved")]);
});
