import { expect, it } from "vitest";
import { setUpCore, task as coreTask } from "../2025-11-25/core-peer.ts";
import { creating, relatedKey, sent, setUpSep, start, task, unknownTask } from "./sep-peer.ts";

const deleted = ({ taskId }: { taskId?: unknown }) => ({ result: { _meta: { [relatedKey]: { taskId } } } });

it("deletes a task before its time [S-050 S-055]", async () => {
  const setup = await setUpSep();
  const { peer } = setup;
  const handle = await start(setup);
  peer.answer(handle.requestId, { result: sent });
  expect(await handle.result()).toEqual(sent);
  peer.script("tasks/delete", deleted);
  await handle.delete();
  const about = { taskId: handle.id, _meta: { [relatedKey]: { taskId: handle.id } } };
  expect(peer.params("tasks/delete")).toEqual([about]);
  peer.always("tasks/get", unknownTask); // what it was is kept nowhere
  await expect(handle.get()).rejects.toMatchObject({ taskId: handle.id });
});

it("says why a server does not delete [A-21]", async () => {
  const setup = await setUpSep();
  const handle = await start(setup);
  const error = { code: -32602, message: "Only ended tasks can be deleted" };
  setup.peer.script("tasks/delete", { error });
  await expect(handle.delete()).rejects.toMatchObject({ code: "rpc", error });
});

it("deletes as soon as the result is there, where that is asked for [S-055 S-097]", async () => {
  const { peer, client } = await setUpSep();
  peer.always("tools/call", creating(peer));
  peer.always("tasks/get", task("completed"));
  peer.always("tasks/result", { result: sent });
  peer.script("tasks/delete", deleted);
  const options = { deleteAfterFetch: true, ttlMs: 1000 };
  expect(await client.callTool("publish_report", {}, options)).toEqual(sent);
  expect(peer.of("tasks/delete")).toHaveLength(1);
  expect(await client.callTool("publish_report")).toEqual(sent);
  expect(peer.of("tasks/delete")).toHaveLength(1);
});

it("keeps no result back that could not be deleted, and tells of it", async () => {
  const { peer, client } = await setUpSep();
  const errors: unknown[] = [];
  client.sdk.onerror = (error) => void errors.push(error);
  peer.always("tools/call", creating(peer));
  peer.always("tasks/get", task("completed"));
  peer.always("tasks/result", { result: sent });
  expect(await client.callTool("publish_report", {}, { deleteAfterFetch: true })).toEqual(sent);
  expect(errors).toMatchObject([{ code: "rpc", error: { code: -32601 } }]);
});

it("is not to be had of other tasks", async () => {
  const { peer, client } = await setUpCore();
  peer.always("tools/call", { result: { task: coreTask("working") } });
  peer.always("tasks/get", { result: coreTask("completed") });
  peer.always("tasks/result", { result: sent });
  const handle = await client.startTool("publish_report", {}, { deleteAfterFetch: true });
  await expect(handle.delete()).rejects.toMatchObject({ code: "rpc", error: { code: -32601 } });
  expect(await handle.result()).toEqual(sent);
  expect(peer.of("tasks/delete")).toEqual([]);
});
