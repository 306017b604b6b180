import { expect, it } from "vitest";
import type { TaskCall } from "../../src/runtime/runtime.ts";
import type { TaskSnapshot } from "../../src/task/record.ts";
import { isTerminal } from "../../src/task/outcome.ts";
import { Process, bodyOf, text } from "./harness.ts";

const owner = { generation: "sep-1686", principal: null } as const;
const bySep: Partial<TaskCall> = { ...owner, keepAlive: true };
const kept: Partial<TaskCall> = { ...bySep, ttlMs: 60_000 };
const day = 24 * 3_600_000;

const tools = {
  add: () => text("3"),
  wait: { config: { onCrash: "resume" as const }, handler: untilAborted },
};

async function untilAborted(_args: unknown, { signal }: { signal: AbortSignal }): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}

const get = (process: Process, id: string): Promise<TaskSnapshot> => process.runtime.get(id, owner);
const ended = (process: Process, id: string): Promise<TaskSnapshot> =>
  process.until(id, ({ task }) => isTerminal(task.state), owner);

it("counts from the end of the task, and then it is gone [S-072 S-074 S-081 S-092]", async () => {
  const process = await Process.started({ tools });
  const id = await process.callId("wait", kept);
  await process.clock.advance(10 * day);
  await process.runtime.cancelNow(id, owner);
  await process.clock.advance(59_999);
  expect((await get(process, id)).task.state).toBe("cancelled");
  await process.clock.advance(1);
  await expect(get(process, id)).rejects.toMatchObject({ code: "unknown_task" });
});

it("counts from the end across a restart too [S-072]", async () => {
  const before = await Process.started({ tools });
  const id = await before.callId("add", kept);
  await ended(before, id);
  await before.clock.advance(30_000);
  const process = await before.crash({ tools });
  await process.clock.advance(29_999);
  expect((await get(process, id)).task.state).toBe("settled");
  await process.clock.advance(1);
  await expect(get(process, id)).rejects.toMatchObject({ code: "unknown_task" });
});

it("does not end a task that runs, however long; only maxRunMs does [A-30]", async () => {
  const process = await Process.started({ tools, options: { maxRunMs: 3 * day } });
  const id = await process.callId("wait", kept);
  await process.clock.advance(3 * day - 1);
  expect((await get(process, id)).task.state).toBe("running");
  await process.clock.advance(1);
  expect(bodyOf(await get(process, id))).toMatchObject({ code: -32603 });
  await process.clock.advance(59_999);
  await get(process, id);
  await process.clock.advance(1);
  await expect(get(process, id)).rejects.toMatchObject({ code: "unknown_task" });
});

it.each([
  [0, 1_000],
  [5_000, 5_000],
  [10 * day, day],
  [undefined, 7_000],
])("asked for as %j is %d ms within the server's bounds [S-073 S-091]", async (ttlMs, ms) => {
  const process = await Process.started({ tools, options: { ttlMs: 7_000, maxTtlMs: day } });
  const call = { ...bySep, ...(ttlMs === undefined ? {} : { ttlMs }) };
  const { task } = await process.call("add", call);
  expect(task.expiry).toEqual({ from: "terminal", ms });
});

it("can be none, and can be changed by the handler", async () => {
  const extending = async (_args: unknown, task: { extend: (ms: number) => Promise<void> }) => {
    await task.extend(9_000);
    return text("done");
  };
  const process = await Process.started({ tools: { ...tools, extending }, options: { ttlMs: null } });
  const { task } = await process.call("add", bySep);
  expect(task.expiry).toEqual({ from: "terminal", ms: null });
  const id = await process.callId("extending", bySep);
  expect((await ended(process, id)).task.expiry).toEqual({ from: "terminal", ms: 9_000 });
});

it("begins in the queue where that is asked for [S-026]", async () => {
  const process = await Process.started({ tools });
  const { task } = await process.call("add", { ...kept, queued: true });
  expect(task).toMatchObject({ state: "queued", startedAt: null, attempt: 0 });
  expect((await ended(process, task.id)).task.attempt).toBe(1);
});
