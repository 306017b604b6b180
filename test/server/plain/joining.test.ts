import { memoryStore } from "holdfast/memory";
import { expect, it } from "vitest";
import type { TaskRecord } from "../../../src/task/record.ts";
import { rest } from "../../../src/testing/clocks.ts";
import { FakeStreams } from "../2025-11-25/streams.ts";
import { type Message, text } from "../../kit/messages.ts";
import { InMemorySession } from "../../kit/in-memory-session.ts";
import { serve, type StartedServer, startServer } from "../../kit/server.ts";
import { SessionClient } from "../../kit/session-client.ts";
import { StatelessClient } from "../../kit/stateless-client.ts";
import { fourTools, Job, ticketOf } from "./job.ts";

const plain = { plain: "ticket", plainDeadlineMs: 20, pollingTools: fourTools } as const;
const without = { capabilities: {} };
const key = { "holdfast/idempotencyKey": "k".repeat(22) };

function working(job: Job, options = {}): Promise<StartedServer> {
  return startServer((tasks) => job.add(tasks), { ...plain, ...options });
}

const called = (session: InMemorySession, name = "job", args = {}): Promise<Message> =>
  session.result(session.call(name, args));

it("joins the same call until its result was delivered, and begins anew from then on", async () => {
  const job = new Job();
  const { server } = await working(job);
  const [one, other] = [
    await InMemorySession.open(server),
    await InMemorySession.open(server, { version: "2025-06-18" }),
  ];
  const { reference } = ticketOf(await called(one));
  expect(ticketOf(await called(other)).reference).toBe(reference);
  // A call with other arguments is not the same call.
  expect(ticketOf(await called(one, "job", { other: true })).reference).not.toBe(reference);
  job.end();
  // The task may have ended meanwhile, but its result was not delivered.
  expect(await called(one)).toEqual(text("run 2"));
  for (const run of [3, 4, 5]) expect(await called(one)).toEqual(text(`run ${run}`));
});

it.each(["2026-07-28", "2025-06-18", "alone"])(
  "does not join a call whose result was delivered, over HTTP: %s",
  async (version) => {
    const job = new Job();
    job.end();
    const { http } = await serve({
      tools: (tasks) => job.add(tasks),
      http: { anonymous: "shared", sessions: version !== "alone" },
    });
    const peer = new StatelessClient(http.url);
    const earlier =
      version === "2026-07-28" ? undefined : await SessionClient.open(http.url, { version: "2025-06-18" });
    const call = async (): Promise<unknown> =>
      earlier === undefined
        ? (await peer.call("job", {}, without)).result
        : (await earlier.call("job"))["result"];
    for (const run of [1, 2, 3]) expect(await call()).toMatchObject(text(`run ${run}`));
  },
);

it("ignores the order in which arguments are written", async () => {
  const job = new Job();
  const { server } = await working(job);
  const session = await InMemorySession.open(server);
  const first = ticketOf(await called(session, "job", { a: 1, b: [2] }));
  expect(ticketOf(await called(session, "job", { b: [2], a: 1 })).reference).toBe(first.reference);
  expect(job.runs).toBe(1);
});

it("never joins calls of different principals, or of different sessions without a principal", async () => {
  const job = new Job();
  const { server } = await working(job);
  const callers = [
    await InMemorySession.open(server, { principal: "alice" }),
    await InMemorySession.open(server, { principal: "bob" }),
    await InMemorySession.open(server, { principal: null, streams: new FakeStreams() }),
  ];
  const tickets = await Promise.all(callers.map(async (session) => ticketOf(await called(session))));
  expect(new Set(tickets.map(({ reference }) => reference)).size).toBe(3);
  expect(job.runs).toBe(3);
  const [alice, bob] = callers;
  const [mine] = tickets;
  if (alice === undefined || bob === undefined || mine === undefined) throw new Error("There are three.");
  for (const name of ["task_result", "task_cancel", "task_answer"]) {
    const args = { reference: mine.reference, ...(name === "task_answer" && { answer: {} }) };
    const foreign = await called(bob, name, args);
    const unknown = await called(bob, name, { ...args, reference: "ZZZZ-ZZZZ" });
    // A different answer would reveal that the task exists.
    expect(JSON.stringify(foreign).replaceAll(mine.reference, "ZZZZ-ZZZZ")).toBe(JSON.stringify(unknown));
  }
  const { text: listed } = ticketOf(await called(bob, "task_list"));
  expect(listed).not.toContain(mine.reference);
  job.end();
  expect(await called(alice, "task_result", { reference: mine.reference })).toEqual(text("run 3"));
});

it("does not join calls of different sessions over HTTP", async () => {
  const job = new Job();
  const { http } = await serve({ tools: (tasks) => job.add(tasks), options: plain });
  const peers = [await SessionClient.open(http.url), await SessionClient.open(http.url)];
  const references = new Set<string>();
  for (const peer of [...peers, ...peers]) {
    references.add(ticketOf((await peer.call("job"))["result"] as Message).reference);
  }
  expect([references.size, job.runs]).toEqual([2, 2]);
  job.end();
});

it("begins each call anew for a tool with joinCalls: false, and for callers without principal and session", async () => {
  const job = new Job();
  const peer = await StatelessClient.of({ tools: (tasks) => job.add(tasks), options: plain });
  await peer.call("job", {}, without);
  await peer.call("job", {}, without);
  expect(job.runs).toBe(2);
  const twice = new Job();
  const { server } = await startServer((tasks) => twice.add(tasks, { joinCalls: false }), plain);
  const session = await InMemorySession.open(server);
  await called(session);
  await called(session);
  expect(twice.runs).toBe(2);
});

it("finds a call by its caller's own key, also after its result was delivered [A-48]", async () => {
  const job = new Job();
  const peer = await StatelessClient.of({ tools: (tasks) => job.add(tasks) });
  job.end();
  const meta = { ...key, "holdfast/repeat": true };
  for (const given of [key, meta, meta]) {
    const { result } = await peer.call("job", {}, { ...without, meta: given });
    expect(result).toMatchObject(text("run 1"));
  }
  // A repeated call without a key cannot be found.
  const { error } = await peer.call("job", {}, { ...without, meta: { "holdfast/repeat": true } });
  expect(error).toMatchObject({ code: -32602, data: { "holdfast/notRepeatable": true } });
});

it("keeps the result of a call whose stream broke for the same call", async () => {
  const job = new Job();
  const { server } = await startServer((tasks) => job.add(tasks));
  const streams = new FakeStreams();
  const session = await InMemorySession.open(server, { streams });
  const first = session.call("job");
  await job.begun.promise;
  streams.break(first);
  job.end();
  expect(await session.result(first)).toEqual(text("run 1"));
  expect(await called(session)).toEqual(text("run 1"));
  expect(await called(session)).toEqual(text("run 2"));
});

it("answers a caller that joins a call and cannot be asked its question with an error, and asks the other", async () => {
  const { server } = await startServer(
    (tasks) =>
      tasks.tool("asks", { joinCalls: true }, async (_args, task) => {
        const { action } = await task.elicit("sure", {
          message: "Sure?",
          requestedSchema: { type: "object", properties: {} },
        });
        return text(action);
      }),
    { plain: "wait" },
  );
  const able = await InMemorySession.open(server, { capabilities: { elicitation: {} } });
  const call = able.call("asks");
  const asked = await able.asked("elicitation/create");
  const unable = await InMemorySession.open(server);
  expect(await called(unable, "asks")).toMatchObject({ isError: true });
  able.reply(asked, { action: "accept", content: {} });
  expect(await able.result(call)).toEqual(text("accept"));
});

it("lists a running call, however many newer ones have ended", async () => {
  const job = new Job();
  const { server } = await startServer((tasks) => {
    job.add(tasks);
    tasks.tool("add", { plain: "wait" }, () => text("3"));
  }, plain);
  const session = await InMemorySession.open(server);
  const { reference } = ticketOf(await called(session));
  for (let n = 0; n < 1_010; n++) await called(session, "add", { n });
  expect(JSON.stringify(await called(session, "task_list"))).toContain(reference);
});

it("keeps a result without a ticket for ten minutes after it was delivered, and one with a ticket for its ttl", async () => {
  const store = memoryStore();
  const job = new Job();
  const ttlMs = 3_600_000;
  const { server } = await startServer(
    (tasks) => {
      tasks.tool("waits", { plain: "wait" }, () => text("here"));
      tasks.tool("quick", {}, () => text("here"));
      job.add(tasks);
    },
    { ...plain, store, ttlMs },
  );
  // Of callers that are told apart, and of one who is not.
  for (const principal of ["ann", null]) {
    const session = await InMemorySession.open(server, { principal });
    for (const name of ["waits", "quick"]) expect(await called(session, name)).toEqual(text("here"));
  }
  const session = await InMemorySession.open(server);
  const { reference } = ticketOf(await called(session));
  job.end();
  expect(await called(session, "task_result", { reference })).toEqual(text("run 1"));
  await rest();
  const kept = await store.list({ generation: "plain" }, null, 10, 0);
  const keptMs = ({ sweepAt, createdAt }: TaskRecord): number => Number(sweepAt) - createdAt;
  const byTool = (name: string): number[] => kept.filter(({ tool }) => tool === name).map(keptMs);
  expect(byTool("job")).toEqual([ttlMs]);
  for (const ms of [...byTool("waits"), ...byTool("quick")]) {
    expect(ms).toBeGreaterThanOrEqual(600_000);
    expect(ms).toBeLessThan(ttlMs);
  }
  expect(kept).toHaveLength(5);
});
