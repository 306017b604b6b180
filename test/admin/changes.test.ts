import { expect, it } from "vitest";
import type { TaskChanges } from "../../src/admin/admin.ts";
import { followTasks } from "../../src/admin/create-admin.ts";
import { memoryDatabase, memoryStore } from "../../src/store/sqlite/memory-store.ts";
import { FakeClock } from "../../src/testing/clocks.ts";
import { Process, text, type Handler } from "../runtime/harness.ts";
import { adminOf } from "./operator.ts";

const ok: Handler = () => text("ok");
const tools = { ok };

interface Followed {
  /** The next that is told, which comes when its time has come. */
  readonly next: () => Promise<TaskChanges>;
  /** Whether nothing is told within so many ms. */
  readonly isQuietFor: (ms: number) => Promise<boolean>;
  readonly reads: AsyncIterator<TaskChanges>;
}

/** What is told from now on, of a process whose clock stands still. */
async function followed(process: Process, signal?: AbortSignal): Promise<Followed> {
  const reads = adminOf(process)
    .changes(signal && { signal })
    [Symbol.asyncIterator]();
  expect(await reads.next()).toEqual({ done: false, value: { tasks: null } });
  let asked: Promise<IteratorResult<TaskChanges>> | undefined;
  const isQuietFor = async (ms: number): Promise<boolean> => {
    let isTold = false;
    asked ??= reads.next();
    void asked.then(() => (isTold = true));
    await process.clock.advance(ms);
    return !isTold;
  };
  const next = async (): Promise<TaskChanges> => {
    asked ??= reads.next();
    const told = asked;
    asked = undefined;
    await process.clock.advance(250);
    return (await told).value as TaskChanges;
  };
  return { next, isQuietFor, reads };
}

it("tells at once that any task may have changed, and then which ones have, four times a second at most", async () => {
  const process = await Process.started({ tools });
  const { next, isQuietFor } = await followed(process);
  expect(await isQuietFor(10_000)).toBe(true);
  const first = await process.callId("ok");
  expect(await next()).toEqual({ tasks: [first] });
  const [second, third] = [await process.callId("ok"), await process.callId("ok")];
  await Promise.all([process.ended(second), process.ended(third)]);
  expect(await isQuietFor(240)).toBe(true);
  expect((await next()).tasks).toEqual(expect.arrayContaining([second, third]));
  expect(await isQuietFor(10_000)).toBe(true);
  await process.runtime.stop();
});

it("tells of lines of logs, and of parts of outputs", async () => {
  const steps = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const writes: Handler = async (_args, task) => {
    await steps[0]?.promise;
    await task.log("info", "a line");
    await steps[1]?.promise;
    await task.output({ type: "text", text: "a part" });
    await steps[2]?.promise;
    return text("done");
  };
  const process = await Process.started({ tools: { writes } });
  const id = await process.callId("writes");
  await process.until(id, ({ task }) => task.state === "running");
  const { next, isQuietFor } = await followed(process);
  expect(await isQuietFor(1_000)).toBe(true);
  steps[0]?.resolve();
  await process.until(id, ({ task }) => task.logged === 1);
  expect(await next()).toEqual({ tasks: [id] });
  expect(await isQuietFor(1_000)).toBe(true);
  steps[1]?.resolve();
  await process.until(id, ({ task }) => task.outputs === 1);
  expect(await next()).toEqual({ tasks: [id] });
  steps[2]?.resolve();
  await process.runtime.stop();
});

it("says that any task may have changed where many have", async () => {
  const process = await Process.started({ tools });
  const { next, isQuietFor } = await followed(process);
  await isQuietFor(1_000);
  await process.callId("ok");
  await next();
  await Promise.all(Array.from({ length: 201 }, () => process.callId("ok")));
  expect(await next()).toEqual({ tasks: null });
  const id = await process.callId("ok");
  await process.ended(id);
  expect(await next()).toEqual({ tasks: [id] });
  await process.runtime.stop();
});

it("says so where the store does not know which have", async () => {
  const [clock, database] = [new FakeClock(), memoryDatabase()];
  const [store, other] = [memoryStore(database), memoryStore(database)];
  await store.open({ id: "one", handlers: [] });
  await other.open({ id: "other", handlers: [] });
  const reads = followTasks(store, (ms, run) => clock.after(ms, run), undefined);
  await reads.next();
  const next = reads.next();
  await other.setHandlers([{ method: "tools/call", tool: "ok" }]);
  await clock.advance(250);
  expect(await next).toEqual({ done: false, value: { tasks: null } });
  await reads.return();
  await Promise.all([store.close(), other.close()]);
});

it("ends with its signal, and listens to the store no longer", async () => {
  const process = await Process.started({ tools });
  const over = new AbortController();
  const { reads } = await followed(process, over.signal);
  const next = reads.next();
  const armed = process.clock.armed;
  over.abort();
  expect(await next).toEqual({ done: true, value: undefined });
  expect(process.clock.armed).toBeLessThan(armed);
  await process.runtime.stop();
});

it("rejects before the store is open, and once it is closed", async () => {
  const process = new Process({ tools });
  const tooEarly = adminOf(process).changes()[Symbol.asyncIterator]();
  await expect(tooEarly.next()).rejects.toMatchObject({ code: "store_closed" });
  await process.runtime.start();
  const { reads } = await followed(process);
  await process.runtime.stop();
  const next = reads.next();
  next.catch(() => undefined);
  await process.clock.advance(6_000);
  await expect(next).rejects.toMatchObject({ code: "store_closed" });
});
