import { InMemoryTransport } from "@modelcontextprotocol/client";
import { expect, it } from "vitest";
import { connectWith } from "../../../src/client/connect.ts";
import { memoryHandles } from "../../../src/client/handles/handle-store.ts";
import { FakeClock } from "../fake-clock.ts";
import {
  CorePeer,
  type CoreSetup,
  sent,
  setUpCore,
  task,
  taskCapabilities,
  taskId,
  unknownTask,
} from "./core-peer.ts";

async function start({ peer, client }: CoreSetup) {
  peer.script("tools/call", { result: { task: task("working") } });
  return client.startTool("publish_report");
}

it("cancels by tasks/cancel, and does not count on the task being kept [C-084 C-085 C-083 C-076]", async () => {
  const setup = await setUpCore();
  const { peer } = setup;
  const handle = await start(setup);
  peer.script("tasks/cancel", { result: task("cancelled", { statusMessage: "as you like" }, 1) });
  await handle.cancel();
  peer.always("tasks/get", unknownTask);
  await expect(handle.result()).rejects.toMatchObject({ code: "cancelled", message: "as you like" });
  expect(peer.params("tasks/cancel")).toEqual([{ taskId }]);
  expect(peer.of("notifications/cancelled")).toEqual([]);
});

it("tells who waits at once that the task is cancelled", async () => {
  const setup = await setUpCore();
  setup.clock.hold();
  const handle = await start(setup);
  const result = handle.result();
  await setup.clock.nap(2000);
  setup.peer.script("tasks/cancel", { result: task("cancelled", {}, 1) });
  await handle.cancel();
  await expect(result).rejects.toMatchObject({ code: "cancelled" });
  expect(setup.peer.of("tasks/get")).toEqual([]);
});

it("has nothing to cancel of a task that has ended, and says so of one that is unknown", async () => {
  const setup = await setUpCore();
  const { peer } = setup;
  const handle = await start(setup);
  peer.always("tasks/cancel", { error: { code: -32602, message: "Already completed" } });
  peer.always("tasks/get", { result: task("completed") });
  peer.always("tasks/result", { result: sent });
  await handle.cancel();
  peer.always("tasks/get", unknownTask);
  await expect(handle.cancel()).rejects.toMatchObject({ code: "unknown_task" });
});

it("asks no server to cancel that does not declare it, and has only requests that can be tasks [C-011 C-D-007]", async () => {
  const { requests } = taskCapabilities.tasks;
  const setup = await setUpCore({}, { ...taskCapabilities, tasks: { requests } });
  const handle = await start(setup);
  await expect(handle.cancel()).rejects.toMatchObject({ code: "rpc", error: { code: -32601 } });
  expect(setup.peer.of("tasks/cancel")).toEqual([]);
});

it("leaves the task alone when a wait is given up", async () => {
  const setup = await setUpCore();
  setup.clock.hold();
  const handle = await start(setup);
  const leaving = new AbortController();
  const result = handle.result({ signal: leaving.signal });
  await setup.clock.nap(2000);
  leaving.abort(new Error("enough"));
  await expect(result).rejects.toThrow("enough");
  await setup.peer.settled(setup.client);
  expect(setup.peer.of("tasks/cancel")).toEqual([]);
  expect(setup.peer.of("notifications/cancelled")).toEqual([]);
});

it("cancels what became of a call that was given up before its answer, as a task [C-084]", async () => {
  const { peer, client } = await setUpCore();
  peer.always("tools/call", "silence");
  peer.always("tasks/cancel", { result: task("cancelled") });
  const leaving = new AbortController();
  const { signal } = leaving;
  const calls = [
    client.callTool("publish_report", {}, { signal }),
    client.callTool("publish_report", {}, { signal, idempotencyKey: "to-be-found-again-by-its-caller" }),
  ];
  await peer.sees("tools/call", 2);
  leaving.abort(new Error("enough"));
  for (const call of calls) await expect(call).rejects.toThrow("enough");
  const [forgotten, kept] = peer.of("tools/call");
  peer.answer(kept?.["id"], { result: { task: task("working", { taskId: "kept" }) } });
  peer.answer(forgotten?.["id"], { result: { task: task("working") } });
  await peer.sees("tasks/cancel");
  await peer.settled(client);
  expect(peer.params("tasks/cancel")).toEqual([{ taskId }]);
  expect(peer.of("notifications/cancelled")).toEqual([]);
});

it("keeps what became of a call that was given up before its answer, for the next process, where there is a store", async () => {
  const { peer, client } = await setUpCore({ handles: memoryHandles() });
  peer.always("tools/call", "silence");
  peer.always("tasks/cancel", { result: task("cancelled") });
  const leaving = new AbortController();
  const { signal } = leaving;
  const calls = [
    client.callTool("publish_report", {}, { signal }),
    client.callTool("publish_report", {}, { signal, cancelOnAbort: true }),
  ];
  await peer.sees("tools/call", 2);
  leaving.abort(new Error("enough"));
  for (const call of calls) await expect(call).rejects.toThrow("enough");
  const [kept, unwanted] = peer.of("tools/call");
  expect(await client.pending()).toMatchObject([{ reference: null }, { reference: null }]);
  peer.answer(kept?.["id"], { result: { task: task("working", { taskId: "kept" }) } });
  peer.answer(unwanted?.["id"], { result: { task: task("working") } });
  await peer.sees("tasks/cancel");
  await peer.settled(client);
  expect(peer.params("tasks/cancel")).toEqual([{ taskId }]);
  const references = (await client.pending()).map(({ reference }) => reference?.taskId);
  expect(new Set(references)).toEqual(new Set(["kept", undefined]));
});

it("takes a plain call back by its own id while it is open, and drops what comes after [C-087 C-090]", async () => {
  const errors: unknown[] = [];
  const { peer, client } = await setUpCore({}, { tools: {} });
  client.sdk.onerror = (error) => void errors.push(error);
  peer.script("tools/call", "silence", { result: sent });
  const leaving = new AbortController();
  const call = client.callTool("publish_report", {}, { signal: leaving.signal });
  await peer.sees("tools/call");
  leaving.abort(new Error("enough"));
  await expect(call).rejects.toThrow("enough");
  const id = peer.of("tools/call")[0]?.["id"];
  expect(peer.params("notifications/cancelled").map(({ requestId }) => requestId)).toEqual([id]);
  peer.answer(id, { result: sent });
  expect(await client.callTool("publish_report")).toEqual(sent);
  expect(peer.of("notifications/cancelled")).toHaveLength(1);
  expect(errors).toEqual([]);
});

it("never cancels the handshake [C-086]", async () => {
  const [near, far] = InMemoryTransport.createLinkedPair();
  const peer = new CorePeer(far, taskCapabilities, "2025-11-25");
  peer.always("initialize", "silence");
  await far.start();
  const leaving = new AbortController();
  const connecting = connectWith(near, { signal: leaving.signal }, new FakeClock());
  await peer.sees("initialize");
  leaving.abort(new Error("enough"));
  await expect(connecting).rejects.toThrow("enough");
  expect(peer.of("notifications/cancelled")).toEqual([]);
});
