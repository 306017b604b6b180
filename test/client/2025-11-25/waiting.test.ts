import { expect, it } from "vitest";
import { hasEnded } from "../../../src/client/task/remote-task.ts";
import { relatedKey, sent, setUpCore, task, taskId, unknownTask, type CoreSetup } from "./core-peer.ts";

async function start(setup: CoreSetup) {
  setup.peer.script("tools/call", { result: { task: task("working") } });
  return setup.client.startTool("publish_report");
}

it("polls at the server's pace until the end, and asks for the result then [C-002 C-046 C-050 C-051 C-056]", async () => {
  const setup = await setUpCore();
  const { peer, clock } = setup;
  const handle = await start(setup);
  peer.script(
    "tasks/get",
    { result: task("working", { pollInterval: 5000 }, 1) },
    { result: task("working", { pollInterval: 10 }, 2) },
    { result: task("completed", {}, 3) },
  );
  peer.script("tasks/result", { result: { ...sent, _meta: { [relatedKey]: { taskId } } } });
  expect(await handle.result()).toMatchObject(sent);
  expect(clock.naps).toEqual([2000, 5000, 250]);
  expect(peer.params("tasks/get")).toEqual([{ taskId }, { taskId }, { taskId }]);
  expect(peer.params("tasks/result")).toEqual([{ taskId }]);
});

it("relates no request about a task to it in _meta as well [C-101]", async () => {
  const setup = await setUpCore();
  const { peer } = setup;
  const handle = await start(setup);
  peer.script("tasks/cancel", { result: task("cancelled") });
  peer.script("tasks/get", { result: task("completed") });
  peer.script("tasks/result", { result: sent });
  await handle.result();
  await handle.cancel();
  for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
    expect(peer.params(method)).toEqual([{ taskId }]);
  }
});

it("gives a result that is an error as a result, though the task failed [A-09]", async () => {
  const setup = await setUpCore();
  const handle = await start(setup);
  const wrong = { content: [{ type: "text", text: "no paper" }], isError: true };
  setup.peer.script("tasks/get", { result: task("failed", { statusMessage: "no paper" }) });
  setup.peer.script("tasks/result", { result: wrong });
  expect(await handle.result()).toEqual(wrong);
  expect(await handle.result()).toEqual(wrong);
});

it("gives the error of a task exactly", async () => {
  const setup = await setUpCore();
  const handle = await start(setup);
  const error = { code: -32602, message: "no such month", data: { month: 13 } };
  setup.peer.script("tasks/get", { result: task("failed") });
  setup.peer.script("tasks/result", { error });
  await expect(handle.result()).rejects.toMatchObject({ code: "failed", error, taskId });
});

it("reads a task that says only what its first draft said [C-D-005]", async () => {
  const { peer, client } = await setUpCore();
  const {
    lastUpdatedAt: _,
    pollInterval: _p,
    ...draft
  } = task("working", { ttl: null }) as Record<string, unknown>;
  peer.script("tools/call", { result: { task: draft } });
  const handle = await client.startTool("publish_report");
  peer.script("tasks/get", { result: draft });
  expect(await handle.get()).toEqual({
    taskId,
    status: "working",
    createdAt: "2026-10-01T00:00:00Z",
    lastUpdatedAt: "2026-10-01T00:00:00Z",
    ttlMs: null,
  });
});

it.each([
  ["for another task", { ...task("working"), taskId: "other" }],
  ["without createdAt", { taskId, status: "working" }],
  ["in a status that there is not", task("paused")],
])("does not accept an answer %s", async (_, answer) => {
  const setup = await setUpCore();
  const handle = await start(setup);
  setup.peer.always("tasks/get", { result: answer });
  await expect(handle.result()).rejects.toMatchObject({ code: "protocol" });
});

it("tells what the server says by itself, and polls all the same [C-067 C-068]", async () => {
  const setup = await setUpCore();
  const { peer, clock } = setup;
  clock.hold();
  const handle = await start(setup);
  const seen: unknown[] = [];
  const watching = (async () => {
    for await (const { status, statusMessage } of handle.updates()) seen.push([status, statusMessage]);
  })();
  const nap = await clock.nap(2000);
  peer.notify("notifications/tasks/status", task("working", { statusMessage: "page 3" }, 1));
  await peer.settled(setup.client);
  expect(peer.of("tasks/get")).toEqual([]);
  peer.script("tasks/get", { result: task("working", { statusMessage: "page 4" }, 2) });
  nap.wake();
  // The pace counts from the last word, whoever had it; an end is looked up at once.
  (await clock.nap()).wake();
  await peer.sees("tasks/get");
  peer.script("tasks/get", { result: task("completed", {}, 3) });
  peer.script("tasks/result", { result: sent });
  await clock.nap(2000);
  peer.notify("notifications/tasks/status", task("working", { statusMessage: "page 2" }, 0)); // overtaken
  peer.notify("notifications/tasks/status", task("completed", {}, 3));
  await watching;
  expect(seen).toEqual([
    ["working", undefined],
    ["working", "page 3"],
    ["working", "page 4"],
    ["completed", undefined],
  ]);
});

it("asks for a result again that it did not get, after another poll [C-064]", async () => {
  const setup = await setUpCore();
  const { peer } = setup;
  const handle = await start(setup);
  peer.always("tasks/get", { result: task("completed") });
  peer.script("tasks/result", { error: { code: -32603, message: "the disk is full" } }, { result: sent });
  expect(await handle.result()).toEqual(sent);
  expect(peer.of("tasks/get")).toHaveLength(2);
});

it("says that a task is gone, or was never there", async () => {
  const setup = await setUpCore();
  const { peer, client } = setup;
  const handle = await start(setup);
  peer.always("tasks/get", unknownTask);
  await expect(handle.result()).rejects.toMatchObject({ code: "expired" });
  const stranger = await client.resume({ server: "transport", generation: "2025-11-25", taskId: "gone" });
  await expect(stranger.result()).rejects.toMatchObject({ code: "unknown_task" });
});

it("takes up a task of an earlier process, and none of another generation", async () => {
  const { peer, client } = await setUpCore();
  peer.always("tasks/get", { result: task("completed") });
  peer.always("tasks/result", { result: sent });
  const reference = { server: "transport", generation: "2025-11-25", taskId };
  const handle = await client.resume(reference);
  expect(await handle.result()).toEqual(sent);
  expect(hasEnded(await handle.get())).toBe(true);
  const other = client.resume({ ...reference, generation: "2026-07-28" });
  await expect(other).rejects.toMatchObject({ code: "reference" });
});
