import { expect, it } from "vitest";
import { Process, nobody, text } from "./harness.ts";

const named = { wireId: "mine", scope: "s1", ttlMs: 1_000 };
const unknown = { code: "unknown_task" };

it("removes a task that has ended, and frees its name [S-053]", async () => {
  const process = await Process.started({ tools: { add: () => text("3") } });
  const id = await process.callId("add", named);
  await process.ended(id);
  await process.runtime.delete(id, nobody);
  await expect(process.get(id)).rejects.toMatchObject(unknown);
  await expect(process.runtime.delete(id, nobody)).rejects.toMatchObject(unknown);
  expect(await process.callId("add", named)).not.toBe(id);
});

it("is refused while the task runs, and for all but its owner [S-054 S-087]", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const slow = async () => {
    await promise;
    return text("3");
  };
  const process = await Process.started({ tools: { slow } });
  const id = await process.callId("slow");
  expect(await process.runtime.delete(id, nobody)).toMatchObject({ id, finishedAt: null });
  resolve();
  await process.ended(id);
  for (const other of [
    { ...nobody, principal: "bob" },
    { ...nobody, generation: "sep-1686" as const },
  ]) {
    await expect(process.runtime.delete(id, other)).rejects.toMatchObject(unknown);
  }
  await process.runtime.delete(id, nobody);
});

it("has happened to a task whose time is over, swept or not: its name is free", async () => {
  const process = await Process.started({ tools: { add: () => text("3") } });
  const id = await process.callId("add", named);
  await process.ended(id);
  process.clock.suspend(1_000);
  expect(await process.callId("add", named)).not.toBe(id);
  await expect(process.get(id)).rejects.toMatchObject(unknown);
});
