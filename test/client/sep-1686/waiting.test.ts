import { expect, it } from "vitest";
import { memoryHandles } from "../../../src/client/handles/handle-store.ts";
import { askedFor, relatedKey, sent, setUpSep, start, task, unknownTask } from "./sep-peer.ts";

it("polls at the server's pace, and tells what it hears with times of its own [S-038 S-072]", async () => {
  const setup = await setUpSep();
  const { peer, clock } = setup;
  const handle = await start(setup);
  peer.script(
    "tasks/get",
    task("submitted", { pollFrequency: 5000 }),
    task("submitted", { pollFrequency: 5000 }),
    task("working", { pollFrequency: 10, keepAlive: null }),
    task("completed"),
  );
  peer.script("tasks/result", { result: sent });
  const seen: unknown[] = [];
  for await (const { taskId: _, ...update } of handle.updates()) seen.push(update);
  expect(clock.naps).toEqual([5000, 5000, 250]);
  const createdAt = "2026-10-01T00:00:00.000Z";
  const base = { createdAt, ttlMs: null };
  expect(seen).toEqual([
    {
      ...base,
      status: "working",
      statusMessage: "Not started yet",
      lastUpdatedAt: createdAt,
      keepAliveMs: 60_000,
      pollIntervalMs: 5000,
    },
    {
      ...base,
      status: "working",
      lastUpdatedAt: "2026-10-01T00:00:10.000Z",
      keepAliveMs: null,
      pollIntervalMs: 10,
    },
    {
      ...base,
      status: "completed",
      lastUpdatedAt: "2026-10-01T00:00:10.250Z",
      keepAliveMs: 60_000,
      pollIntervalMs: 2000,
      result: sent,
    },
  ]);
});

it("gives a result that is an error as a result [A-09]", async () => {
  const setup = await setUpSep();
  const handle = await start(setup);
  const wrong = { content: [{ type: "text", text: "no paper" }], isError: true };
  setup.peer.always("tasks/get", task("completed"));
  setup.peer.always("tasks/result", { result: wrong });
  expect(await handle.result()).toEqual(wrong);
});

it("fetches a result as often as it is asked for it [S-043]", async () => {
  const { peer, client } = await setUpSep();
  peer.always("tasks/get", task("completed"));
  peer.always("tasks/result", { result: sent });
  const reference = { server: "transport", generation: "sep-1686", taskId: "of-an-earlier-process" };
  for (let times = 0; times < 2; times++) {
    expect(await (await client.resume(reference)).result()).toEqual(sent);
  }
});

it("tells of a failure what the server tells, which has no code", async () => {
  const setup = await setUpSep();
  const handle = await start(setup);
  setup.peer.always("tasks/get", task("failed", { error: "the printer burns" }));
  await expect(handle.result()).rejects.toMatchObject({
    code: "failed",
    error: { code: -32603, message: "the printer burns" },
  });
  expect(setup.peer.of("tasks/result")).toEqual([]);
});

it("tells the error of the call itself, where it was heard", async () => {
  const setup = await setUpSep();
  setup.clock.hold();
  const handle = await start(setup);
  setup.peer.always("tasks/get", task("working"));
  const result = handle.result();
  await setup.clock.nap(2000);
  const error = { code: -32002, message: "no such report", data: { month: 13 } };
  setup.peer.answer(handle.requestId, { error });
  await expect(result).rejects.toMatchObject({ code: "failed", error, taskId: handle.id });
});

it("takes unknown for an end, of which nobody can say more [A-17]", async () => {
  const setup = await setUpSep();
  const handle = await start(setup);
  setup.peer.always("tasks/get", task("unknown"));
  await expect(handle.result()).rejects.toMatchObject({
    code: "failed",
    error: { code: -32603, message: "The server does not report what happened to the task" },
  });
  expect(setup.peer.of("tasks/get")).toHaveLength(1);
});

it("says that a task is gone, or was never there", async () => {
  const setup = await setUpSep();
  const handle = await start(setup);
  setup.peer.always("tasks/get", unknownTask);
  await expect(handle.result()).rejects.toMatchObject({ code: "expired" });
  const reference = { server: "transport", generation: "sep-1686", taskId: "gone" };
  const stranger = await setup.client.resume(reference);
  await expect(stranger.result()).rejects.toMatchObject({ code: "unknown_task" });
});

it.each([
  ["for another task", task("working", { taskId: "other" })],
  ["in a status that there is not", task("paused")],
])("does not accept an answer %s", async (_, answer) => {
  const setup = await setUpSep();
  const handle = await start(setup);
  setup.peer.always("tasks/get", answer);
  await expect(handle.result()).rejects.toMatchObject({ code: "protocol" });
});

it("answers the task's questions in its name, while it waits for them [S-061]", async () => {
  const keys: unknown[] = [];
  const setup = await setUpSep({
    onInput: async ({ key, taskId }) => {
      keys.push([key, taskId]);
      return { action: "accept", content: { ok: true } };
    },
  });
  const { peer } = setup;
  const handle = await start(setup);
  const _meta = { [relatedKey]: { taskId: handle.id } };
  const question = { message: "Send it?", requestedSchema: { type: "object", properties: {} }, _meta };
  const { id, answer } = peer.ask("elicitation/create", question);
  peer.always("tasks/get", task("input_required"));
  const result = handle.result();
  expect(await answer).toMatchObject({ result: { action: "accept", content: { ok: true }, _meta } });
  expect(keys).toEqual([[id, handle.id]]);
  peer.always("tasks/get", task("completed"));
  peer.always("tasks/result", { result: sent });
  expect(await result).toEqual(sent);
});

it("hears of progress until the call is answered", async () => {
  const { peer, client } = await setUpSep();
  const reports: unknown[] = [];
  let report = (_progress: number): void => undefined;
  peer.script("tools/call", (params) => {
    const { taskId } = askedFor(params);
    const { progressToken } = params["_meta"] as { progressToken: unknown };
    report = (progress) =>
      peer.notify("notifications/progress", {
        progressToken,
        progress,
        _meta: { [relatedKey]: { taskId } },
      });
    report(1); // word that there is a task, as any other
    return "silence";
  });
  const onProgress = (progress: unknown): void => void reports.push(progress);
  const handle = await client.startTool("publish_report", {}, { onProgress });
  report(2);
  peer.answer(peer.of("tools/call")[0]?.["id"], { result: sent });
  await handle.result();
  report(3);
  await peer.settled(client);
  expect(reports).toEqual([{ progress: 1 }, { progress: 2 }]);
});

it("finds the task of a call whose answer never came, from the next process on [S-023]", async () => {
  const handles = memoryHandles();
  const first = await setUpSep({ handles });
  first.peer.script("tools/call", "silence");
  const call = first.client.callTool("publish_report", { month: "2026-10" });
  await first.peer.sees("tools/call");
  const { taskId } = askedFor(first.peer.params("tools/call")[0]);
  await first.client.close();
  await expect(call).rejects.toMatchObject({ code: "closed" });

  const later = await setUpSep({ handles });
  later.peer.always("tasks/get", task("completed"));
  later.peer.always("tasks/result", { result: sent });
  const [pending] = await later.client.pending();
  expect(pending?.reference).toBeNull();
  const handle = await pending?.take();
  expect(handle?.taskId).toBe(taskId);
  expect(await handle?.result()).toEqual(sent);
  expect(later.peer.of("tools/call")).toEqual([]);
  expect(await later.client.pending()).toEqual([]);
});

it("sends a call of an earlier process no second time, whatever the server says of its task", async () => {
  const handles = memoryHandles();
  const first = await setUpSep({ handles });
  first.peer.script("tools/call", "silence");
  const call = first.client.callTool("publish_report");
  await first.peer.sees("tools/call");
  await first.client.close();
  await expect(call).rejects.toMatchObject({ code: "closed" });

  const later = await setUpSep({ handles }, { tools: {}, tasks: { tools: { call: true } } });
  later.peer.always("tasks/get", unknownTask);
  const [pending] = await later.client.pending();
  await expect(pending?.take()).rejects.toMatchObject({ code: "connection" });
  expect(later.peer.of("tools/call")).toEqual([]);
  expect(await later.client.pending()).toHaveLength(1);
});
