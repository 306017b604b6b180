import { expect, it } from "vitest";
import { withTask } from "../../src/generation/sep-1686.ts";
import { EventIds } from "../../src/server/http/sessions/event-log.ts";
import { rest } from "../../src/testing/clocks.ts";
import { text } from "../kit/messages.ts";
import { EventStream, type SessionClient } from "../kit/session-client.ts";
import { addConfirm, Job, ticketOf } from "./plain/job.ts";
import { minute, processes } from "./restarted-sessions.ts";

/** Sends a request, of which a kill leaves nothing but the event that was sent at once. */
async function begun(
  peer: SessionClient,
  method: string,
  params: object,
  id: string | number = "call",
): Promise<string> {
  const stream = new EventStream(await peer.post({ id, method, params }));
  return (await stream.any())?.id ?? "";
}

const job = { name: "job", arguments: {} };
const lost = {
  code: -32_000,
  message: expect.stringContaining("Send the request again") as unknown,
  data: { retryAfterMs: 1_000, "holdfast/begun": true },
};

/** A tool whose calls wait, and a session with one of them, which has a progress token. */
async function waiting(options: Parameters<Job["add"]>[1] = { plain: "wait" }) {
  const work = new Job();
  const run = await processes({ tools: (tasks) => work.add(tasks, options) });
  const peer = await run.open();
  const event = await begun(peer, "tools/call", { ...job, _meta: { progressToken: "p" } });
  await work.begun.promise;
  return { work, run, peer, event };
}

it("answers a call that was in flight on a new stream, with its progress, however often that breaks too", async () => {
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  const begins = Promise.withResolvers<void>();
  const run = await processes({
    tools: (tasks) =>
      tasks.tool("job", { plain: "wait" }, async (_, task) => {
        begins.resolve();
        await gates[0].promise;
        task.progress(1);
        await gates[1].promise;
        return text("done");
      }),
  });
  const peer = await run.open();
  const event = await begun(peer, "tools/call", { ...job, _meta: { progressToken: "p" } });
  await begins.promise;
  run.kill();
  const first = await peer.listen(event);
  const again = (await first.any())?.id ?? "";
  expect(again.slice(0, 8)).not.toBe(event.slice(0, 8));
  const same = await peer.listen(event); // that event did not arrive
  expect((await same.any())?.id).toContain(again.slice(0, 8));
  run.kill();
  const second = await peer.listen(again);
  gates[0].resolve();
  expect(await second.message()).toMatchObject({
    method: "notifications/progress",
    params: { progressToken: "p", progress: 1 },
  });
  gates[1].resolve();
  expect((await second.rest()).at(-1)).toMatchObject({ id: "call", result: text("done") });
  expect(run.errors).toEqual([]);
});

it("answers a call that ended while its client was away, as often as it comes back", async () => {
  const { work, run, peer, event } = await waiting();
  run.kill();
  work.end();
  await rest();
  for (let time = 0; time < 2; time++) {
    expect(await (await peer.listen(event)).rest()).toMatchObject([{ id: "call", result: text("run 1") }]);
  }
  expect(work.runs).toBe(1);
});

it("answers a call with a ticket where it would have, and makes a wait for its result again", async () => {
  const { work, run, peer, event } = await waiting({ plain: "ticket", plainDeadlineMs: 50 });
  run.kill();
  const [answer] = await (await peer.listen(event)).rest();
  const { reference } = ticketOf(answer?.["result"] as Record<string, unknown>);
  const params = { name: "task_result", arguments: { reference } };
  const polled = await begun(peer, "tools/call", params, "poll");
  run.kill();
  work.end();
  expect(await (await peer.listen(polled)).rest()).toMatchObject([{ id: "poll", result: text("run 1") }]);
});

it("answers a call that asked for a task with that task, and notifies its client from then on", async () => {
  const { work, run, peer } = await waiting();
  const event = await begun(peer, "tools/call", { ...job, task: {} }, 7);
  run.kill();
  const [answer] = await (await peer.listen(event)).rest();
  expect(answer).toMatchObject({ id: 7, result: { task: { status: "working" } } });
  const { task } = (answer?.["result"] ?? {}) as { task?: { taskId: string } };
  const { taskId } = task ?? {};
  const stream = await peer.listen();
  const waits = await begun(peer, "tasks/result", { taskId }, 8);
  run.kill();
  work.end();
  expect((await (await peer.listen(waits)).rest()).at(-1)).toMatchObject({ id: 8, result: text("run 2") });
  await stream.response.body?.cancel();
});

it("answers a call of SEP-1686 when its task has ended", async () => {
  const { work, run, peer } = await waiting();
  const event = await begun(peer, "tools/call", withTask(job, { taskId: "t".repeat(24) }), "sep");
  await rest();
  run.kill();
  const resumed = await peer.listen(event);
  work.end();
  expect((await resumed.rest()).at(-1)).toMatchObject({ id: "sep", result: text("run 2") });
});

it("answers a call that had joined the task of another call", async () => {
  const { work, run, peer } = await waiting({ plain: "wait", joinCalls: true });
  const stream = new EventStream(await peer.post({ id: "same", method: "tools/call", params: job }));
  const opened = await stream.any();
  const joined = await stream.any(); // it names the task
  expect((await run.idsOf(peer)).parse(opened?.id ?? "")?.calls).toEqual([{ id: "same" }]);
  run.kill();
  const resumed = await peer.listen(joined?.id);
  work.end();
  expect((await resumed.rest()).at(-1)).toMatchObject({ id: "same", result: text("run 1") });
});

it("asks on the new stream what the task of a call asks", async () => {
  const run = await processes({ tools: (tasks) => addConfirm(tasks, { plain: "wait" }) });
  const peer = await run.open({ capabilities: { elicitation: {} } });
  const call = await peer.begin("tools/call", { name: "confirm", arguments: {} });
  const opened = await call.any();
  expect(await call.message()).toMatchObject({ method: "elicitation/create" });
  run.kill();
  const resumed = await peer.listen(opened?.id);
  const question = await resumed.message();
  expect(question).toMatchObject({ method: "elicitation/create" });
  await peer.post({ id: question?.["id"], result: { action: "accept", content: { note: "Hi" } } });
  expect(await resumed.message()).toMatchObject({ result: text("sent: Hi") });
});

it("says at once that a call is lost of which nothing is stored, and has nothing more for its stream", async () => {
  const run = await processes({
    own: (mcp) => void mcp.registerTool("hangs", {}, () => new Promise(() => undefined)),
  });
  const peer = await run.open();
  const event = await begun(peer, "tools/call", { name: "hangs", arguments: {} }, 5);
  run.kill();
  const resumed = await peer.listen(event);
  const answer = await resumed.next();
  expect(answer?.message).toMatchObject({ id: 5, error: lost });
  expect(await resumed.any()).toBeUndefined();
  // SDK clients come back after an error, and stop for 405 alone.
  for (const end of [() => undefined, run.kill]) {
    end();
    const over = await peer.send("GET", { headers: { "last-event-id": answer?.id ?? "" } });
    expect(over.status).toBe(405);
  }
});

it("makes lists again that were in flight", async () => {
  const run = await processes();
  const peer = await run.open();
  const event = await begun(peer, "tools/list", {}, "list");
  run.kill();
  const [answer] = await (await peer.listen(event)).rest();
  expect(answer).toMatchObject({ id: "list", result: { tools: expect.any(Array) as unknown } });
});

it("ends the wait of a resumed call when its client leaves again, and finds the work in the same call", async () => {
  const { work, run, peer, event } = await waiting();
  run.kill();
  const leaving = new AbortController();
  const opened = await (await peer.listen(event, { signal: leaving.signal })).any();
  leaving.abort();
  await run.clock.advance(minute);
  expect((await (await peer.listen(opened?.id)).rest()).at(-1)).toMatchObject({ id: "call", error: lost });
  const again = peer.call("job");
  await rest();
  work.end();
  expect(await again).toMatchObject({ result: text("run 1") });
});

it.each([
  ["cancels the task of a call that its client cancels after a restart", undefined, "cancelled"],
  ["keeps the task for a while where the time of the client was over", "Request timed out", "working"],
])("%s", async (_, reason, expected) => {
  const { run, peer, work } = await waiting();
  // What the killed process waited for is gone with it.
  run.kill();
  await peer.post({ method: "notifications/cancelled", params: { requestId: "call", reason } });
  if (expected === "cancelled") await work.stopped.promise;
  await rest();
  const [task] = await run.tasksOf("call");
  expect(task?.state).toBe(expected === "cancelled" ? "cancelled" : "running");
  work.end();
});

it("cancels nothing that its session has answered since the restart", async () => {
  const { work, run, peer } = await waiting({ plain: "ticket", plainDeadlineMs: 50 });
  run.kill();
  const answer = await peer.begin("tools/call", { ...job, arguments: { other: true } });
  await answer.rest();
  await peer.post({ method: "notifications/cancelled", params: { requestId: 1 } });
  await rest();
  expect((await run.tasksOf(1)).map(({ state }) => state)).toEqual(["running"]);
  work.end();
});

/** The calls of an event as a client can write them itself. */
const written = (...calls: object[]): string =>
  `-${Buffer.from(JSON.stringify(calls)).toString("base64url")}`;

it.each([
  ["no calls", ""],
  ["an empty list", written()],
  ["no base64url", "-&&&"],
  ["too little for a seal", "-AAAA"],
  ["a poll", written({ id: 1, request: { method: "ping" } })],
  ["a task", written({ id: 1, task: "t" })],
  ["a call", written({ id: 1 })],
  ["ten kilobytes", `-${"A".repeat(10_000)}`],
])("has no stream for an event of another process with %s that its client wrote", async (_, suffix) => {
  const run = await processes();
  const peer = await run.open();
  const id = `00000000-1-1${suffix}`;
  expect((await peer.send("GET", { headers: { "last-event-id": id } })).status).toBe(405);
});

it("takes no other session's event, nor one that was changed", async () => {
  const run = await processes();
  const [ann, bob] = [await run.open(), await run.open({}, "bob")];
  const event = await run.eventOf(ann, { id: 1, request: { method: "ping" } });
  const changed = event.slice(0, -1) + (event.endsWith("0") ? "1" : "0");
  expect((await bob.send("GET", { headers: { "last-event-id": event } })).status).toBe(405);
  expect((await ann.send("GET", { headers: { "last-event-id": changed } })).status).toBe(405);
  expect(await (await ann.listen(event)).rest()).toEqual([{ jsonrpc: "2.0", id: 1, result: {} }]);
});

it("answers an event whose call is lost", async () => {
  const run = await processes();
  const peer = await run.open();
  for (const call of [{ id: 1 }, { id: 2, task: "none" }]) {
    const event = await run.eventOf(peer, call);
    expect(await (await peer.listen(event)).rest()).toMatchObject([{ id: call.id, error: lost }]);
  }
});

it("counts what is resumed as what is sent, and refuses more of it", async () => {
  const run = await processes({ rates: { missesPerMinute: 2 } });
  const peer = await run.open();
  const poll = await run.eventOf(peer, {
    id: 1,
    request: { method: "tasks/result", params: { taskId: "none" } },
  });
  for (let times = 0; times < 2; times++) {
    expect(await (await peer.listen(poll)).rest()).toMatchObject([{ id: 1, error: { code: -32_602 } }]);
  }
  expect((await peer.send("GET", { headers: { "last-event-id": poll } })).status).toBe(429);
});

it("resumes no more calls than a session may have open", async () => {
  const run = await processes({
    own: (mcp) => void mcp.registerTool("hangs", {}, () => new Promise(() => undefined)),
  });
  const peer = await run.open();
  run.kill();
  const first = await run.eventOf(peer, { id: "one" });
  expect(await (await peer.listen(first)).rest()).toMatchObject([{ id: "one", error: lost }]);
  for (let id = 0; id < 500; id++) await peer.begin("tools/call", { name: "hangs", arguments: {} });
  const second = await run.eventOf(peer, { id: "two" });
  expect((await peer.send("GET", { headers: { "last-event-id": second } })).status).toBe(429);
});

it("keeps the ids of events short enough for a header, at the cost of what they say", () => {
  const request = { method: "tasks/result", params: { taskId: "t".repeat(3_000) } };
  const ids = new EventIds("session", { current: Buffer.alloc(32), accepted: [Buffer.alloc(32)] });
  const read = (suffix: string): unknown => ids.parse(`00000000-1-1${suffix}`)?.calls;
  expect(read(ids.formatCalls([{ id: 1, request: { ...request, params: {} } }]))).toEqual([
    { id: 1, request: { ...request, params: {} } },
  ]);
  expect(read(ids.formatCalls([{ id: 1, request }]))).toEqual([{ id: 1 }]);
  expect(ids.formatCalls([{ id: "i".repeat(3_000) }])).toBe("");
  expect(ids.formatCalls(Array.from({ length: 51 }, (_, id) => ({ id })))).toBe("");
});
