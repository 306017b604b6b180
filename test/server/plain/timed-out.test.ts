import { PassThrough } from "node:stream";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { serveStdio } from "holdfast/stdio";
import { expect, it, onTestFinished } from "vitest";
import { rest } from "../../../src/testing/clocks.ts";
import { FakeStreams } from "../2025-11-25/streams.ts";
import { formClient, text } from "../../kit/messages.ts";
import { type Client, InMemorySession } from "../../kit/in-memory-session.ts";
import type { StatelessClient } from "../../kit/stateless-client.ts";
import { StdioClient } from "../../kit/stdio-client.ts";
import { clockedServer, type ClockedServer } from "./clocked-server.ts";
import { addConfirm, Job, ticketOf } from "./job.ts";

const minute = 60_000;
const ten = 10 * minute;
const timedOut = "McpError: MCP error -32001: Request timed out";
const without = { capabilities: {} };

/** A call of `job` in a session, whose client cancels it with that reason when it runs. */
async function leftCall(
  job: Job,
  served: ClockedServer,
  reason?: string,
  client: Client = {},
): Promise<InMemorySession> {
  const session = await InMemorySession.open(served.server, client);
  const call = session.call("job");
  await job.begun.promise;
  session.notify("notifications/cancelled", { requestId: call, ...(reason !== undefined && { reason }) });
  await rest();
  expect(session.seen.some(({ id }) => id === call)).toBe(false); // as the protocol says
  return session;
}

/** Whether the handler was told to stop. */
function watched(job: Job): () => boolean {
  let stopped = false;
  void job.stopped.promise.then(() => (stopped = true));
  return () => stopped;
}

it.each(["wait", "ticket"] as const)(
  "gives the result to the same call when its caller ran out of time, with %s",
  async (plain) => {
    const job = new Job();
    const served = await clockedServer((tools) => job.add(tools, { plain }));
    const session = await leftCall(job, served, timedOut);
    await served.clock.advance(ten - 1);
    const again = session.call("job");
    await rest();
    job.end();
    expect(await session.result(again)).toEqual(text("run 1"));
    // It was delivered, so that the next one begins anew.
    expect(await session.request("tools/call", { name: "job", arguments: {} })).toEqual(text("run 2"));
    expect(served.errors).toEqual([]);
  },
);

it("finds a result that came within the grace, for ten minutes after its end", async () => {
  const job = new Job();
  const served = await clockedServer((tools) => job.add(tools, { plain: "wait" }));
  const session = await leftCall(job, served, timedOut);
  await served.clock.advance(ten - 1);
  job.end();
  await served.clock.advance(ten - 1);
  expect(await session.request("tools/call", { name: "job", arguments: {} })).toEqual(text("run 1"));
});

it("cancels the task when the grace has ended, and begins the same call anew", async () => {
  const job = new Job();
  const served = await clockedServer((tools) => job.add(tools));
  const stopped = watched(job);
  const session = await leftCall(job, served, timedOut);
  await served.clock.advance(ten - 1);
  expect(stopped()).toBe(false);
  await served.clock.advance(1);
  expect(stopped()).toBe(true);
  job.end();
  expect(await session.request("tools/call", { name: "job", arguments: {} })).toEqual(text("run 2"));
});

it.each([
  ["joins a call that waited for some time and whose cancel arrives after it", true, "run 1"],
  ["begins work of its own if no cancel arrives", false, "run 2"],
])("%s", async (_, cancels, expected) => {
  const job = new Job();
  const { server, clock } = await clockedServer((tools) => job.add(tools));
  const session = await InMemorySession.open(server);
  const other = await InMemorySession.open(server);
  const call = session.call("job");
  await clock.advance(1_000);
  const again = session.call("job");
  await rest();
  if (cancels) session.notify("notifications/cancelled", { requestId: call, reason: timedOut });
  await clock.advance(999);
  expect(job.runs).toBe(1);
  await clock.advance(1);
  job.end();
  expect(await session.result(again)).toEqual(text(expected));
  await other.close();
});

it("begins work of its own at once beside a call that came just before, or in another session", async () => {
  const job = new Job();
  const { server, clock } = await clockedServer((tools) => job.add(tools));
  const streams = new FakeStreams();
  const [first, other] = [
    await InMemorySession.open(server),
    await InMemorySession.open(server, { streams }),
  ];
  first.call("job");
  await clock.advance(999);
  first.call("job");
  await rest();
  expect(job.runs).toBe(2);
  await clock.advance(30_000);
  other.call("job");
  await rest();
  expect(job.runs).toBe(3);
  job.end();
});

it("cancels no task whose caller came back, however long it works on", async () => {
  const job = new Job();
  const served = await clockedServer((tools) => job.add(tools, { plain: "wait" }));
  const stopped = watched(job);
  const session = await leftCall(job, served, timedOut);
  await served.clock.advance(5 * minute);
  const again = session.call("job");
  await served.clock.advance(60 * minute);
  expect([stopped(), job.runs]).toEqual([false, 1]);
  // When it leaves again, the whole grace begins.
  session.notify("notifications/cancelled", { requestId: again, reason: timedOut });
  await served.clock.advance(ten - 1);
  expect(stopped()).toBe(false);
  await served.clock.advance(1);
  expect(stopped()).toBe(true);
  job.end();
});

it("does the same before the first ticket is handed out, and not after it", async () => {
  const job = new Job();
  const served = await clockedServer((tools) => job.add(tools));
  const stopped = watched(job);
  const session = await leftCall(job, served, timedOut);
  const again = session.call("job");
  await rest();
  await served.clock.advance(45_000);
  const { reference } = ticketOf(await session.result(again));
  const poll = session.call("task_result", { reference });
  await rest();
  session.notify("notifications/cancelled", { requestId: poll, reason: timedOut });
  await served.clock.advance(60 * minute);
  expect(stopped()).toBe(false);
  job.end();
  expect(await session.result(session.call("task_result", { reference }))).toEqual(text("run 1"));
});

it.each([undefined, "User pressed stop", "AbortError: This operation was aborted"])(
  "cancels at once when the client does not say that its time is over, but %j",
  async (reason) => {
    const job = new Job();
    const served = await clockedServer((tools) => job.add(tools));
    const stopped = watched(job);
    await leftCall(job, served, reason);
    expect(stopped()).toBe(true);
    job.end();
  },
);

it.each<[string, Client, object, object]>([
  ["by callers that are not told apart", { principal: null }, {}, {}],
  ["for a tool whose calls never join", {}, { joinCalls: false }, {}],
  ["with a grace of 0", {}, {}, { plainGraceMs: 0 }],
])("cancels at once what the same call could not find: %s", async (_, client, config, options) => {
  const job = new Job();
  const served = await clockedServer((tools) => job.add(tools, config), options);
  const stopped = watched(job);
  await leftCall(job, served, timedOut, client);
  expect(stopped()).toBe(true);
  job.end();
});

it("tells callers without a principal apart by their sessions", async () => {
  const job = new Job();
  const served = await clockedServer((tools) => job.add(tools));
  const session = await leftCall(job, served, timedOut, { principal: null, streams: new FakeStreams() });
  job.end();
  expect(await session.request("tools/call", { name: "job", arguments: {} })).toEqual(text("run 1"));
});

it("keeps a question open, and asks it again when the same call is made", async () => {
  const served = await clockedServer((tools) => addConfirm(tools));
  const session = await InMemorySession.open(served.server, {
    capabilities: formClient,
    streams: new FakeStreams(),
  });
  for (let nth = 0; nth < 2; nth++) {
    const call = session.call("confirm");
    await session.asked("elicitation/create", nth);
    session.notify("notifications/cancelled", { requestId: call, reason: timedOut });
    await rest();
    await served.clock.advance(5 * minute);
  }
  const call = session.call("confirm");
  session.reply(await session.asked("elicitation/create", 2), { action: "accept", content: { note: "b" } });
  await served.clock.advance(20); // for more questions
  expect(await session.result(call)).toEqual(text("sent: b"));
});

it("cancels a task that waits for an answer when the grace has ended", async () => {
  const store = memoryStore();
  const served = await clockedServer((tools) => addConfirm(tools), { store });
  const session = await InMemorySession.open(served.server, {
    capabilities: formClient,
    streams: new FakeStreams(),
  });
  const call = session.call("confirm");
  await session.asked("elicitation/create");
  session.notify("notifications/cancelled", { requestId: call, reason: timedOut });
  await rest();
  const [left] = await store.list({ generation: "plain" }, null, 1, 0);
  expect(left).toMatchObject({ state: "running", openInputs: 1, cancelBy: served.clock.now() + ten });
  await served.clock.advance(ten);
  expect(await store.get(String(left?.id))).toMatchObject({
    state: "cancelled",
    openInputs: 0,
    cancelBy: null,
    statusMessage: "Cancelled because the caller left and did not call again.",
  });
});

/** A call over HTTP on 2026-07-28 whose client closes its stream after so long. */
async function closedCall(
  job: Job,
  { clock }: ClockedServer,
  peer: StatelessClient,
  afterMs: number,
): Promise<void> {
  const client = new AbortController();
  const call = peer.call("job", {}, { ...without, signal: client.signal });
  call.catch(() => undefined);
  await job.begun.promise;
  await clock.advance(afterMs);
  client.abort();
  await Promise.allSettled([call]);
  await rest();
}

it("takes a stream of 2026-07-28 that closes after more than five seconds for one whose time is over", async () => {
  const job = new Job();
  const served = await clockedServer((tools) => job.add(tools));
  const peer = served.peer("ann");
  await closedCall(job, served, peer, 5_001);
  await served.clock.advance(ten - 1);
  const again = peer.call("job", {}, without);
  await rest();
  job.end();
  expect((await again).result).toMatchObject(text("run 1"));
});

it.each([
  ["ann", 5_000],
  [null, minute],
])("cancels the task of %s at once whose stream closes after %i ms", async (principal, ms) => {
  const job = new Job();
  const served = await clockedServer((tools) => job.add(tools, { plain: "wait" }));
  const stopped = watched(job);
  await closedCall(job, served, served.peer(principal), ms);
  expect(stopped()).toBe(true);
  job.end();
});

it.each([timedOut, undefined])("reads the reason of a cancel on a pipe: %j", async (reason) => {
  const job = new Job();
  const store = memoryStore();
  const tasks = createTasks({ store, stopDeadlineMs: 50 });
  job.add(tasks);
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const factory = (): McpServer => new McpServer({ name: "reports", version: "1" });
  const server = await serveStdio(tasks.server(factory), { stdin, stdout });
  onTestFinished(() => server.close());
  const pipe = new StdioClient(stdin, stdout);
  pipe.send(1, "tools/call", { name: "job", arguments: {} }, {});
  await job.begun.promise;
  pipe.cancel(1, reason);
  pipe.send(2, "tools/call", { name: "job", arguments: {} }, {});
  await pipe.request("server/discover"); // by then it has read what came before
  if (reason === undefined) await job.stopped.promise;
  job.end();
  const answer = await pipe.next();
  expect(answer).toMatchObject({ id: 2, result: text(reason === undefined ? "run 2" : "run 1") });
});
