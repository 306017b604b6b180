import { expect, it } from "vitest";
import { noMethod, relatedKey, sent, setUpSep, start, task, unknownTask } from "./sep-peer.ts";

it("cancels by the id of the call, and polls until the task is cancelled [S-068 S-070]", async () => {
  const setup = await setUpSep();
  const { peer, clock } = setup;
  const handle = await start(setup);
  peer.script("tasks/get", task("working"), task("working"), task("cancelled"));
  await handle.cancel();
  expect(peer.params("notifications/cancelled")).toEqual([
    {
      requestId: handle.requestId,
      reason: "The task was cancelled",
      _meta: { [relatedKey]: { taskId: handle.id } },
    },
  ]);
  expect(clock.naps).toEqual([2000, 2000]);
  await expect(handle.result()).rejects.toMatchObject({ code: "cancelled" });
  expect(peer.of("tasks/get")).toHaveLength(3);
  await handle.cancel(); // there is nothing left to cancel
  expect(peer.of("notifications/cancelled")).toHaveLength(1);
});

it("tells who waits at once", async () => {
  const setup = await setUpSep();
  const { peer, clock } = setup;
  clock.hold();
  const handle = await start(setup);
  peer.script("tasks/get", task("working"), task("cancelled"));
  const result = handle.result();
  await clock.nap(2000);
  await handle.cancel();
  await expect(result).rejects.toMatchObject({ code: "cancelled" });
});

it("takes a task for cancelled that is not kept after it", async () => {
  const setup = await setUpSep();
  const handle = await start(setup);
  setup.peer.always("tasks/get", unknownTask);
  await handle.cancel();
  await expect(handle.result()).rejects.toMatchObject({ code: "cancelled" });
});

it("does not wait for ever for a server that heeds no cancel [S-071]", async () => {
  const setup = await setUpSep();
  const handle = await start(setup);
  setup.peer.always("tasks/get", task("working"));
  await expect(handle.cancel()).rejects.toMatchObject({ code: "protocol", taskId: handle.id });
  expect(setup.clock.naps).toHaveLength(15);
});

it("waits as long for it when the machine's clock is set meanwhile", async () => {
  const setup = await setUpSep();
  const { peer, clock } = setup;
  const handle = await start(setup);
  peer.script("tasks/get", task("working"), task("working"), task("working"), task("cancelled"));
  clock.hold();
  const cancelling = handle.cancel();
  (await clock.nap(2000)).wake();
  const nap = await clock.nap(2000);
  clock.set(24 * 3_600_000);
  clock.release();
  nap.wake();
  await cancelling;
  expect(peer.of("tasks/get")).toHaveLength(4);
});

it("leaves a task that ended otherwise as it is", async () => {
  const setup = await setUpSep();
  const handle = await start(setup);
  setup.peer.always("tasks/get", task("completed"));
  setup.peer.always("tasks/result", { result: sent });
  await handle.cancel();
  expect(await handle.result()).toEqual(sent);
});

it("says that it cannot cancel what another session called", async () => {
  const { peer, client } = await setUpSep();
  const reference = { server: "transport", generation: "sep-1686", taskId: "of-an-earlier-process" };
  const handle = await client.resume(reference);
  peer.always("tasks/get", task("working"));
  await expect(handle.cancel()).rejects.toMatchObject({ code: "rpc", error: { code: -32601 } });
  peer.always("tasks/get", unknownTask);
  await expect(handle.cancel()).rejects.toMatchObject({ code: "unknown_task" });
  peer.always("tasks/get", task("cancelled"));
  await handle.cancel();
  expect(peer.of("notifications/cancelled")).toEqual([]);
});

it("cancels a task whose question cannot be answered [A-23]", async () => {
  const setup = await setUpSep({
    capabilities: { sampling: {} },
    onInput: async () => {
      throw new Error("no model");
    },
  });
  const { peer } = setup;
  setup.clock.hold();
  const handle = await start(setup);
  peer.always("tasks/get", task("input_required"));
  const result = handle.result();
  await setup.clock.nap(2000);
  peer.always("tasks/get", task("cancelled"));
  const messages = [{ role: "user", content: { type: "text", text: "Sum up" } }];
  peer.ask("sampling/createMessage", {
    messages,
    maxTokens: 10,
    _meta: { [relatedKey]: { taskId: handle.id } },
  });
  await expect(result).rejects.toMatchObject({ code: "cancelled" });
});

it("leaves the task alone when a wait is given up", async () => {
  const setup = await setUpSep();
  setup.clock.hold();
  const handle = await start(setup);
  setup.peer.always("tasks/get", task("working"));
  setup.peer.always("ping", noMethod);
  const leaving = new AbortController();
  const result = handle.result({ signal: leaving.signal });
  await setup.clock.nap(2000);
  leaving.abort(new Error("enough"));
  await expect(result).rejects.toThrow("enough");
  await setup.peer.settled(setup.client);
  expect(setup.peer.of("notifications/cancelled")).toEqual([]);
});
