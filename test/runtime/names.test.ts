import { expect, it } from "vitest";
import { Process, bodyOf, nobody, text } from "./harness.ts";

const tools = { add: () => text("3") };

it("finds a task by what its requestor calls it, in its scope", async () => {
  const process = await Process.started({ tools });
  const named = { wireId: "mine", scope: "s1" };
  const id = await process.callId("add", named);
  const wire = { generation: "2026-07-28", ...named } as const;
  expect(await process.runtime.find(wire)).toBe(id);
  expect(await process.runtime.find({ ...wire, scope: "s2" })).toBeUndefined();
  await expect(process.call("add", named)).rejects.toMatchObject({ code: "wire_id_taken" });
  await process.call("add", { ...named, scope: "s2" });
});

it("takes a call for a new one once its result was delivered, and not before [A-48]", async () => {
  const process = await Process.started({ tools });
  const keyed = { idempotencyKey: "k" };
  const id = await process.callId("add", keyed);
  await process.runtime.delivered(id, nobody);
  await process.ended(id);
  expect(await process.callId("add", keyed)).toBe(id);
  await process.runtime.delivered(id, nobody);
  await process.runtime.delivered(id, nobody);
  const next = await process.callId("add", keyed);
  expect(next).not.toBe(id);
  expect((await process.get(id)).outcome).toMatchObject({ kind: "result" });
  await expect(process.runtime.delivered(id, { ...nobody, principal: "bob" })).rejects.toMatchObject({
    code: "unknown_task",
  });
});

it("tells the handler what its requestor calls the task", async () => {
  const process = await Process.started({
    tools: { name: (_args, { id, wireId }) => text(`${id} ${wireId}`) },
  });
  const own = await process.callId("name");
  expect(bodyOf(await process.ended(own))).toEqual(text(`${own} ${own}`));
  const id = await process.callId("name", { wireId: "mine", scope: "s1" });
  expect(bodyOf(await process.ended(id))).toEqual(text(`${id} mine`));
});

it("remembers the request that a task came from, for its owner", async () => {
  const process = await Process.started({ tools });
  const origin = { requestId: 7, session: "s", capabilities: {} };
  const id = await process.callId("add", { origin });
  expect(await process.runtime.originOf(id, nobody)).toEqual(origin);
  await expect(process.runtime.originOf(id, { ...nobody, principal: "bob" })).rejects.toMatchObject({
    code: "unknown_task",
  });
});

it("takes an id that was made before", async () => {
  const process = await Process.started({ tools });
  expect(await process.callId("add", { id: "made-before" })).toBe("made-before");
});
