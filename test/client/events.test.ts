import { expect, it } from "vitest";
import type { ClientEvent } from "../../src/client/client-events.ts";
import { acknowledged, approval, asking, completed, created, failed, sent, taskId } from "./answers.ts";
import { discoveredHoldfast } from "./scripted-server.ts";
import { ScriptedStream } from "./scripted-stream.ts";
import { setUp } from "./setup.ts";

const secret = "hunter2";
const tool = "publish_report";
const callId = "call-1";

it("tell of a call and its task from beginning to end, and no secrets [C-131 S-098]", async () => {
  const events: ClientEvent[] = [];
  const { server, client, clock } = await setUp(
    {
      token: secret,
      onEvent: (event) => void events.push(event),
      onInput: async () => ({ action: "accept", content: { pin: secret } }),
    },
    discoveredHoldfast,
  );
  const question = { ...approval, params: { ...approval.params, message: secret } };
  const error = { code: -32603, message: secret };
  server.script(
    "tools/call",
    "reset",
    { result: { resultType: "input_required", inputRequests: { before: question } } },
    created({ statusMessage: secret }),
  );
  server.script(
    "tasks/get",
    { error },
    asking({ approve: question }),
    async () => (
      await server.sees("tasks/update", 1),
      completed({ content: [{ type: "text", text: secret }] })
    ),
  );
  server.script("tasks/update", acknowledged);
  const startedAt = clock.now();
  await client.callTool(tool, { password: secret });
  await client.close();
  const method = "elicitation/create";
  const before = { key: "before", method, taskId: null, callId };
  const approve = { key: "approve", method, taskId };
  expect(events.map(({ at: _, ...event }) => event)).toEqual([
    { type: "connected", protocolVersion: "2026-07-28", generation: "2026-07-28", transport: "http" },
    { type: "call_sent", callId, tool, attempt: 1, repeat: false },
    { type: "call_delayed", callId, tool, retryInMs: 125 },
    { type: "call_sent", callId, tool, attempt: 2, repeat: true },
    { type: "call_answered", callId, tool, answer: "questions" },
    { type: "question_asked", ...before },
    { type: "question_answered", ...before, action: "accept" },
    { type: "call_sent", callId, tool, attempt: 1, repeat: false },
    { type: "call_answered", callId, tool, answer: "task", taskId },
    { type: "task_created", callId, tool, taskId },
    { type: "task_seen", taskId, status: "working", source: "call" },
    {
      type: "poll_failed",
      taskId,
      failures: 1,
      rpcCode: -32603,
      retryInMs: 2000,
    },
    { type: "poll_recovered", taskId },
    { type: "task_seen", taskId, status: "input_required", source: "poll" },
    { type: "question_asked", ...approve },
    { type: "question_answered", ...approve, action: "accept" },
    { type: "answer_sent", ...approve },
    { type: "task_seen", taskId, status: "completed", source: "poll" },
    { type: "wait_ended", taskId, outcome: "completed" },
    { type: "disconnected", code: "closed" },
  ]);
  expect(events.map(({ at }) => at)).toEqual(
    events.map(({ at }) => at).toSorted((one, other) => one - other),
  );
  expect(events[0]?.at).toBe(startedAt);
  const told = JSON.stringify(events);
  expect(JSON.parse(told)).toEqual(events);
  expect(told).not.toContain(secret);
});

it("tell what goes wrong: calls, questions, answers, waits", async () => {
  const events: ClientEvent[] = [];
  const { server, client } = await setUp({
    onEvent: (event) => void events.push(event),
    onInput: async () => Promise.reject(new Error("nobody there")),
  });
  const error = { code: -32602, message: "no such month" };
  server.script("tools/call", { error }, created(), created(), created(), { status: 401 });
  server.script("tasks/get", failed(error), asking({ approve: approval }), async () => {
    await server.sees("tasks/update", 1);
    return completed();
  });
  server.script("tasks/update", { error });
  await expect(client.callTool(tool)).rejects.toMatchObject({ code: "rpc" });
  await expect(client.callTool(tool)).rejects.toMatchObject({ code: "failed" });
  await client.callTool(tool);
  const handle = await client.startTool(tool);
  await expect(handle.result({ signal: AbortSignal.abort() })).rejects.toThrow();
  for await (const _ of handle.updates()) break;
  const given = new AbortController();
  const wait = handle.result({ signal: given.signal });
  given.abort(new Error(secret));
  await expect(wait).rejects.toThrow(secret);
  server.script("tasks/cancel", acknowledged);
  await handle.cancel();
  await expect(client.callTool(tool)).rejects.toMatchObject({ code: "unauthorized" });
  const about = { key: "approve", method: "elicitation/create", taskId };
  const seen = events.map(({ at: _, ...event }) => event);
  const expected = [
    { type: "call_failed", callId, tool, code: "rpc", rpcCode: -32602 },
    { type: "wait_ended", taskId, outcome: "failed" },
    { type: "question_unanswered", ...about, effect: "cancel_elicitation" },
    { type: "answer_refused", ...about, rpcCode: -32602 },
    { type: "wait_ended", taskId, outcome: "left" },
    { type: "wait_ended", taskId, outcome: "aborted" },
    { type: "cancel_requested", taskId },
    { type: "cancel_acknowledged", taskId },
    { type: "call_failed", callId: "call-5", tool, code: "unauthorized" },
  ];
  expect(seen.filter((event) => expected.some(({ type }) => type === event.type))).toEqual([
    ...expected.slice(0, 4),
    { type: "wait_ended", taskId, outcome: "completed" },
    ...expected.slice(4),
  ]);
  expect(JSON.stringify(events)).not.toContain(secret);
});

it("tell of listening, and that a resumed task is pushed", async () => {
  const events: ClientEvent[] = [];
  const { server, client, clock } = await setUp({
    listen: true,
    onEvent: (event) => void events.push(event),
  });
  const streams = [new ScriptedStream(), new ScriptedStream()] as const;
  const refusal = { error: { code: -32601, message: "no more" } };
  server.script("subscriptions/listen", streams[0], streams[1], refusal);
  const unseen = Promise.withResolvers<never>();
  server.script("tasks/get", async () => unseen.promise);
  clock.hold();
  const handle = await client.resume({ server: server.url, generation: "2026-07-28", taskId });
  const result = handle.result();
  (await clock.nap(10)).wake();
  await streams[0].acknowledge([taskId]);
  streams[0].complete();
  (await clock.nap(125)).wake();
  await streams[1].acknowledge([]);
  streams[1].push(completed());
  expect(await result).toEqual(sent);
  expect(events.slice(1).map(({ at: _, ...event }) => event)).toEqual([
    { type: "task_resumed", taskId },
    { type: "listening_opened", asked: 1, accepted: 1 },
    { type: "listening_ended", retryInMs: 125 },
    { type: "listening_opened", asked: 1, accepted: 0 },
    { type: "task_seen", taskId, status: "completed", source: "push" },
    { type: "wait_ended", taskId, outcome: "completed" },
  ]);
});

it("disturb nothing, whatever whoever is told of them does", async () => {
  for (const onEvent of [
    () => {
      throw new Error("disk full");
    },
    async () => Promise.reject(new Error("disk full")),
  ]) {
    const { server, client } = await setUp({ onEvent });
    server.script("tools/call", created());
    server.script("tasks/get", completed());
    expect(await client.callTool(tool)).toEqual(sent);
  }
});
