import { expect, it } from "vitest";
import { acknowledged, approval, asking, completed, created, sent, taskId, working } from "./answers.ts";
import { withdrawMs } from "../../src/client/task-protocol.ts";
import { setUp } from "./setup.ts";

const late = { timeoutMs: 5000 };

it("a wait that takes too long ends with `timeout`, and its task runs on", async () => {
  const { server, client, clock } = await setUp();
  server.script("tools/call", created());
  server.script("tasks/get", working(), completed());
  clock.hold();
  const handle = await client.startTool("publish_report");
  const waits = [handle.result(late), handle.updates(late)[Symbol.asyncIterator]()] as const;
  const other = handle.result();
  expect(await waits[1].next()).toMatchObject({ value: { status: "working" } });
  const next = waits[1].next();
  const nap = await clock.nap(2000);
  clock.passDeadlines(5000);
  const { reference } = handle;
  const timeout = { code: "timeout", taskId, reference };
  await Promise.all([
    expect(waits[0]).rejects.toMatchObject(timeout),
    expect(next).rejects.toMatchObject(timeout),
  ]);
  clock.release();
  nap.wake();
  // Neither the task nor who waits beside it notices.
  expect(await other).toEqual(sent);
  expect(await handle.result(late)).toEqual(sent);
  expect(server.of("tasks/cancel")).toHaveLength(0);
  expect(clock.armed).toBe(0);
});

it("a call has one limit for its answer and its task, and cancelOnAbort is not about it", async () => {
  const { server, client, clock } = await setUp();
  server.script("tools/call", created());
  clock.hold();
  const references: unknown[] = [];
  const call = client.callTool(
    "publish_report",
    {},
    { ...late, cancelOnAbort: true, onTask: (reference) => void references.push(reference) },
  );
  await clock.nap(2000);
  clock.passDeadlines(5000);
  const error: unknown = await call.catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "timeout", taskId, reference: references[0] });
  expect(server.of("tasks/cancel")).toHaveLength(0);
  expect(clock.armed).toBe(0);
});

it("a call without an answer in time is withdrawn, and has no task to tell of", async () => {
  const { server, client, clock } = await setUp();
  server.script("tools/call", "silence", "silence");
  const calls = [
    client.callTool("publish_report", {}, late),
    client.startTool("publish_report", {}, late),
  ].map(async (call) => expect(call).rejects.toMatchObject({ code: "timeout", taskId: undefined }));
  await server.sees("tools/call", 2);
  clock.passDeadlines(5000);
  await Promise.all(calls);
  clock.passDeadlines(withdrawMs);
  expect(clock.armed).toBe(0);
});

it("one look and a cancellation can have a limit too", async () => {
  const { server, client, clock } = await setUp();
  server.script("tasks/get", "silence");
  server.script("tasks/cancel", "silence", acknowledged);
  const handle = await client.resume({ server: server.url, generation: "2026-07-28", taskId });
  const [look, cancel] = [handle.get(late), handle.cancel(late)];
  await Promise.all([server.sees("tasks/get", 1), server.sees("tasks/cancel", 1)]);
  clock.passDeadlines(5000);
  await Promise.all([
    expect(look).rejects.toMatchObject({ code: "timeout", taskId }),
    expect(cancel).rejects.toMatchObject({ code: "timeout", taskId }),
  ]);
  await handle.cancel(late);
  expect(clock.armed).toBe(0);
});

it("a question that is open when the wait ends stays open", async () => {
  const answer = Promise.withResolvers<void>();
  const { server, client, clock } = await setUp({
    onInput: async () => (await answer.promise, { action: "accept", content: { ok: true } }),
  });
  server.script("tools/call", created());
  server.script("tasks/get", asking({ approve: approval }), completed());
  server.script("tasks/update", acknowledged);
  clock.hold();
  const call = client.callTool("publish_report", {}, late);
  (await clock.nap(2000)).wake();
  await clock.nap(2000);
  clock.passDeadlines(5000);
  await expect(call).rejects.toMatchObject({ code: "timeout" });
  answer.resolve();
  await server.sees("tasks/update", 1);
});

it("a call whose last update is looked at for too long gives its result all the same", async () => {
  const { server, client, clock } = await setUp();
  server.script("tools/call", created());
  server.script("tasks/get", completed());
  const leaving = new AbortController();
  const onUpdate = ({ status }: { status: string }): void => {
    if (status !== "completed") return;
    clock.passDeadlines(5000);
    leaving.abort(new Error("no patience"));
  };
  const options = { ...late, signal: leaving.signal, cancelOnAbort: true, onUpdate };
  expect(await client.callTool("publish_report", {}, options)).toEqual(sent);
  expect(server.of("tasks/cancel")).toHaveLength(0);
});
