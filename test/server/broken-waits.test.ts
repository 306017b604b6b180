import type { Tasks } from "holdfast";
import { createFetchHandler } from "holdfast/http";
import { expect, it } from "vitest";
import { withTask } from "../../src/generation/sep-1686.ts";
import { StoreClock } from "../../src/runtime/clock.ts";
import { responseOf } from "../../src/server/http/exchange.ts";
import { UnreadBytes } from "../../src/server/http/unread-bytes.ts";
import { BrokenRequests } from "../../src/server/http/sessions/requests.ts";
import { Sessions } from "../../src/server/http/sessions/sessions.ts";
import { FakeClock, rest } from "../../src/testing/clocks.ts";
import { text } from "../kit/messages.ts";
import { InMemorySession } from "../kit/in-memory-session.ts";
import { startServer } from "../kit/server.ts";
import { SessionClient } from "../kit/session-client.ts";
import { Job } from "./plain/job.ts";
import { admitted } from "./admitted.ts";

const minute = 60_000;
const url = "http://reports.example/mcp";

/** Tasks behind sessions without a network, on a clock that the test moves. */
async function sessions(tools: (tasks: Tasks) => void, principal: string | null = "ann") {
  const { server } = await startServer(tools);
  const clock = new FakeClock();
  const [sessionIdleMs, unusedSessionMs, maxSessions] = [60 * minute, minute, 10];
  const requests = { maxOpenRequestsPerSession: 2, maxOpenRequestsPerPrincipal: 10 };
  const places = { maxSessions, maxSessionsPerPrincipal: 10, ...requests };
  const limits = { sessionIdleMs, unusedSessionMs, ...places };
  const all = new Sessions({
    server,
    clock: new StoreClock(clock),
    unread: new UnreadBytes(Infinity),
    resumeMs: minute,
    ...limits,
  });
  const fetch = async (to: string, init: RequestInit): Promise<Response> => {
    const request = new Request(to, init);
    const body: unknown = request.method === "POST" ? await request.json() : undefined;
    return responseOf(await all.fetch({ request, body, owner: { principal }, admitted }));
  };
  return {
    clock,
    all,
    open: (version?: string) => SessionClient.open(url, version === undefined ? {} : { version }, fetch),
  };
}

/** Sends a request and breaks its connection; resolves with the id of the event from which it can be resumed. */
async function broken(peer: SessionClient, method: string, params: object): Promise<string> {
  const leaving = new AbortController();
  const stream = await peer.begin(method, params, { signal: leaving.signal });
  const opened = await stream.any();
  leaving.abort();
  await rest();
  return opened?.id ?? "";
}

async function startJob(peer: SessionClient): Promise<string> {
  const { result } = await peer.request("tools/call", { name: "job", arguments: {}, task: {} });
  return (result as { task: { taskId: string } }).task.taskId;
}

const lost = {
  error: { code: -32_000, message: expect.stringContaining("Send the request again") as unknown },
};

it.each<[string, (peer: SessionClient) => Promise<[string, object]>]>([
  ["a wait for a result", async (peer) => ["tasks/result", { taskId: await startJob(peer) }]],
  ["a call that waits", async () => ["tools/call", { name: "job", arguments: {} }]],
  [
    "a call of SEP-1686",
    async () => ["tools/call", withTask({ name: "job", arguments: {} }, { taskId: "t".repeat(24) })],
  ],
])("ends %s a minute after its connection broke, and leaves the task alone [A-13]", async (_, request) => {
  const job = new Job();
  const { clock, open } = await sessions((tasks) => job.add(tasks));
  const peer = await open();
  const event = await broken(peer, ...(await request(peer)));
  await job.begun.promise;
  await clock.advance(minute);
  const late = await peer.listen(event);
  const messages = await late.rest();
  expect(messages.at(-1)).toMatchObject(lost);
  expect(clock.armed).toBeLessThanOrEqual(2); // what is left is for the session, and for all sessions
  let stopped = false;
  void job.stopped.promise.then(() => (stopped = true));
  await rest();
  expect(stopped).toBe(false);
  job.end();
});

it("finds the work of a call that nobody came back for in the same call [A-13]", async () => {
  const job = new Job();
  const { clock, open } = await sessions((tasks) => job.add(tasks));
  const peer = await open();
  await broken(peer, "tools/call", { name: "job", arguments: {} });
  await job.begun.promise;
  await clock.advance(minute);
  const again = peer.call("job");
  await rest();
  job.end();
  expect(await again).toMatchObject({ result: text("run 1") });
});

it("waits on for a client that came back, and begins the minute anew when that connection breaks", async () => {
  const job = new Job();
  const { clock, open } = await sessions((tasks) => job.add(tasks));
  const peer = await open();
  const event = await broken(peer, "tasks/result", { taskId: await startJob(peer) });
  await clock.advance(minute - 1);
  const leaving = new AbortController();
  await peer.listen(event, { signal: leaving.signal });
  await clock.advance(10 * minute);
  leaving.abort();
  await clock.advance(minute - 1);
  const last = await peer.listen(event);
  await clock.advance(10 * minute);
  job.end();
  const messages = await last.rest();
  expect(messages.at(-1)).toMatchObject({ result: text("run 1") });
});

it("takes back no more than a session may have open, whether their connections are there or not", async () => {
  const job = new Job();
  const { clock, open } = await sessions((tasks) => job.add(tasks));
  const peer = await open();
  const taskId = await startJob(peer);
  const event = await broken(peer, "tasks/result", { taskId });
  await peer.begin("tasks/result", { taskId });
  const refused = await peer.post({ id: "one more", method: "tasks/result", params: { taskId } });
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
  const message = "This session already has 2 open requests. Wait for some of them, or cancel them.";
  expect(await refused.json()).toEqual({
    jsonrpc: "2.0",
    id: "one more",
    error: { code: -32_000, message, data: { retryAfterMs: 1_000 } },
  });
  // Polls are answered at once, and what is gone makes room.
  expect(await peer.request("tasks/get", { taskId })).toMatchObject({ result: { status: "working" } });
  await clock.advance(minute);
  expect((await (await peer.listen(event)).rest()).at(-1)).toMatchObject(lost);
  const again = await peer.begin("tasks/result", { taskId });
  job.end();
  expect((await again.rest()).at(-1)).toMatchObject({ result: text("run 1") });
});

it("counts no requests of a batch that were cancelled", async () => {
  const job = new Job();
  const { open } = await sessions((tasks) => job.add(tasks));
  const peer = await open("2025-03-26");
  const ids = ["a", "b"];
  const call = { jsonrpc: "2.0", method: "tools/call", params: { name: "job", arguments: {} } };
  await peer.post(ids.map((id) => ({ ...call, id })));
  expect((await peer.post({ id: "c", method: "ping" })).status).toBe(429);
  for (const requestId of ids) await peer.post({ method: "notifications/cancelled", params: { requestId } });
  expect((await peer.post({ id: "d", method: "ping" })).status).toBe(200);
  job.end();
});

it("counts no requests of a batch that cancels them itself", async () => {
  const job = new Job();
  const { open } = await sessions((tasks) => job.add(tasks));
  const peer = await open("2025-03-26");
  const call = { jsonrpc: "2.0", method: "tools/call", params: { name: "job", arguments: {} } };
  const cancel = { jsonrpc: "2.0", method: "notifications/cancelled" };
  await peer.post(
    ["a", "b"].flatMap((id) => [
      { ...call, id },
      { ...cancel, params: { requestId: id } },
    ]),
  );
  expect((await peer.post({ id: "c", method: "ping" })).status).toBe(200);
  job.end();
});

it("ends a wait with the connection where there are no sessions [A-13]", async () => {
  const job = new Job();
  const { server } = await startServer((tasks) => job.add(tasks));
  const handler = createFetchHandler(server, {
    sessions: false,
    allowedHosts: ["reports.example"],
    anonymous: "shared",
  });
  const fetch = (to: string, init: RequestInit): Promise<Response> => {
    const request = new Request(to, init);
    request.headers.set("host", "reports.example");
    return handler.fetch(request);
  };
  const peer = new SessionClient(url, {}, fetch);
  const taskId = await startJob(peer);
  const leaving = new AbortController();
  const stream = await peer.begin("tasks/result", { taskId }, { signal: leaving.signal });
  await rest();
  expect(server.waiting).toBe(1);
  leaving.abort();
  await expect(stream.rest()).resolves.toEqual([]);
  await rest();
  expect(server.waiting).toBe(0);
  job.end();
});

it("ends a wait with the pipe [A-13]", async () => {
  const job = new Job();
  const { server } = await startServer((tasks) => job.add(tasks));
  const session = await InMemorySession.open(server);
  session.begin("tasks/result", { taskId: await session.start("job") });
  await rest();
  expect(server.waiting).toBe(1);
  await session.close();
  await rest();
  expect(server.waiting).toBe(0);
  job.end();
});

it("gives up those of the principal with most of them first, the oldest of all", () => {
  const given: string[] = [];
  const waits = new BrokenRequests({ clock: new FakeClock(), resumeMs: minute, maxPerPrincipal: 3, max: 3 });
  const add = (holder: string | null, name: string) => waits.add(holder, () => given.push(name));
  add("ann", "ann's");
  add("bob", "bob's first");
  const returned = add("bob", "bob's second");
  add("ann", "ann's second");
  expect(given).toEqual(["ann's"]);
  returned();
  add(null, "somebody's");
  add(null, "somebody's second");
  expect(given).toEqual(["ann's", "somebody's"]);
  expect(waits.size).toBe(3);
});

it("keeps no more of a principal than it may have open, the newest of them", () => {
  const given: string[] = [];
  const waits = new BrokenRequests({ clock: new FakeClock(), resumeMs: minute, maxPerPrincipal: 1 });
  for (const holder of ["ann", "ann", "bob", null, null]) {
    waits.add(holder, () => given.push(`${holder}'s`));
  }
  expect(given).toEqual(["ann's"]);
});
