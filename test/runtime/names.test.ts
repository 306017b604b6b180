import { expect, it } from "vitest";
import { Process, nobody, text } from "./harness.ts";

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
