import { expect, it } from "vitest";
import { rest } from "../../src/testing/clocks.ts";
import { text } from "../kit/messages.ts";
import { EventStream, type SessionClient } from "../kit/session-client.ts";
import { Job, ticketOf } from "./plain/job.ts";
import { processes } from "./restarted-sessions.ts";

const job = { name: "job", arguments: {} };

/** A session after a restart, with a call that was in flight: by a token that may make it, and by one that may not. */
async function restored(params: object = job) {
  const work = new Job();
  const run = await processes({
    tools: (tasks) => work.add(tasks, { plain: "wait" }),
    scopes: { job: ["work"] },
  });
  const ann = await run.open({}, "ann", ["work"]);
  const weak = run.peer(ann.sessionId ?? "", "ann", []);
  const stream = new EventStream(await ann.post({ id: "call", method: "tools/call", params }));
  const event = (await stream.any())?.id ?? "";
  await work.begun.promise;
  run.kill();
  const state = async () => (await run.tasksOf("call"))[0]?.state;
  return { work, run, ann, weak, event, state };
}

const cancel = (peer: SessionClient): Promise<Response> =>
  peer.post({ method: "notifications/cancelled", params: { requestId: "call" } });

const resume = (peer: SessionClient, event: string): Promise<Response> =>
  peer.send("GET", { headers: { "last-event-id": event } });

it("cancels no call of an earlier process for a token that may not make it", async () => {
  const { work, ann, weak, state } = await restored();
  await cancel(weak);
  await rest();
  expect(await state()).toBe("running");
  await cancel(ann);
  await work.stopped.promise;
  await rest();
  expect(await state()).toBe("cancelled");
  work.end();
});

it("lets a token for less neither end nor take up a call that was resumed after a restart", async () => {
  const { work, ann, weak, event, state } = await restored();
  const stream = await ann.listen(event);
  const again = (await stream.any())?.id ?? "";
  await rest();
  expect((await cancel(weak)).status).toBe(403);
  for (const each of [again, again.replace(/^(\w+-\w+-\w+).*/, "$1")]) {
    expect((await resume(weak, each)).status).toBe(403);
  }
  expect(await state()).toBe("running");
  work.end();
  expect((await stream.rest()).at(-1)).toMatchObject({ id: "call", result: text("run 1") });
});

it("tells a token for less nothing of a restored session's tasks that was said on its stream", async () => {
  const { work, ann, weak } = await restored({ ...job, task: {} });
  const stream = await ann.listen();
  work.end();
  let told: unknown;
  do told = (await stream.message())?.["params"];
  while (told !== undefined && (told as { status?: string }).status !== "completed");
  expect(told).toBeDefined();
  expect((await resume(weak, "00000000-0-0")).status).toBe(403);
});

it("repeats a request after a restart only for a token that may send it", async () => {
  const work = new Job();
  const run = await processes({
    tools: (tasks) => work.add(tasks, { plain: "ticket", plainDeadlineMs: 0 }),
    scopes: { task_result: ["results"] },
  });
  const ann = await run.open({}, "ann", ["results"]);
  const ticket = await ann.begin("tools/call", job);
  const { reference } = ticketOf((await ticket.rest()).at(-1)?.["result"] as Record<string, unknown>);
  const waits = { name: "task_result", arguments: { reference } };
  const stream = new EventStream(await ann.post({ id: "waits", method: "tools/call", params: waits }));
  const event = (await stream.any())?.id ?? "";
  run.kill();
  expect((await resume(run.peer(ann.sessionId, "ann", []), event)).status).toBe(403);
  work.end();
  expect((await (await ann.listen(event)).rest()).at(-1)).toMatchObject({
    id: "waits",
    result: text("run 1"),
  });
});
