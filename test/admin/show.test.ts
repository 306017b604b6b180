import { expect, it } from "vitest";
import { HookedProcess, hookOf, aMoment } from "../webhooks/hooked-process.ts";
import { answerWith, Receiver } from "../webhooks/receiver.ts";
import { Process, text, type Handler } from "../runtime/harness.ts";
import { adminOf } from "./operator.ts";
import { createAdmin } from "../../src/admin/create-admin.ts";

const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
const asks: Handler = async (_args, task) => text(JSON.stringify(await task.elicit("go", question)));
const ok: Handler = () => text("ok");

it("shows the unfinished tasks that a handler called, in their order, and which call made which", async () => {
  const calls: Handler = async (_args, task) => {
    await task.call("first", "ok", {});
    await Promise.all([task.call("one", "asks", {}), task.call("other", "asks", {})]);
    return text("done");
  };
  const process = await Process.started({ tools: { calls, asks, ok } });
  const id = await process.callId("calls");
  await process.until(id, ({ task }) => task.openInputs === 2);
  const { children, timeline, state } = await adminOf(process).show(id);
  expect(state).toBe("input_required");
  expect(children.map(({ tool, parent, state: how }) => [tool, parent, how])).toEqual([
    ["asks", id, "input_required"],
    ["asks", id, "input_required"],
  ]);
  expect(timeline.map(({ key, childId }) => [key, childId])).toEqual([
    ["first", null],
    ["one", children[0]?.id],
    ["other", children[1]?.id],
  ]);
  await process.runtime.stop();
});

it("shows where a handler threw, in the last attempt in which it did", async () => {
  let count = 0;
  const openDisk = (): never => {
    throw new Error(`no disk ${++count}`);
  };
  const retry = { attempts: 2, backoff: { firstMs: 1 } };
  const throws: Handler = () => {
    try {
      return openDisk();
    } catch (cause) {
      throw new Error(`not written ${count}`, { cause });
    }
  };
  const process = await Process.started({ tools: { throws: { config: { retry }, handler: throws } } });
  const id = await process.callId("throws");
  await process.until(id, ({ task }) => task.attempts.at(-1)?.end === "retried");
  const where = /^Error: not written 1\n {4}at throws.*\ncaused by: Error: no disk 1\n {4}at openDisk /s;
  expect((await adminOf(process).show(id)).attempts).toMatchObject([
    {
      end: "retried",
      error: "Attempt 1 of 2 failed: not written 1",
      stack: expect.stringMatching(where) as string,
    },
  ]);
  await process.clock.advance(60_000);
  await process.ended(id);
  const { attempts } = await adminOf(process).show(id);
  expect(attempts.map(({ end, stack }) => [end, stack?.split("\n")[0]])).toEqual([
    ["retried", undefined],
    ["failed", "Error: not written 2"],
  ]);
  await process.runtime.stop();
});

it("shows the trace of the request that made a task", async () => {
  const process = await Process.started({ tools: { ok } });
  const traceId = "0af7651916cd43dd8448eb211c80319c";
  const trace = { traceparent: `00-${traceId}-b7ad6b7169203331-01` };
  const traced = await process.callId("ok", { origin: { capabilities: {}, trace } });
  const untraced = await process.callId("ok");
  const admin = adminOf(process);
  expect((await admin.show(traced)).traceId).toBe(traceId);
  expect(await admin.show(untraced)).toMatchObject({ traceId: null, children: [], deliveries: [] });
  await process.runtime.stop();
});

it("shows what webhooks have not been told of a task, and why", async () => {
  await using receiver = await Receiver.start(answerWith(500));
  const process = new HookedProcess({ webhooks: [hookOf(receiver, { events: ["task.created"] })] });
  await process.runtime.start();
  const id = await process.call();
  await process.clock.advance(aMoment);
  const [retried] = await process.told("webhook.retried", 1);
  const admin = createAdmin({
    store: process.store,
    now: () => process.clock.now(),
    after: (ms, run) => process.clock.after(ms, run),
    every: (ms, run) => process.clock.every(ms, run),
    randomBytes: (size) => process.clock.randomBytes(size),
    maxBodyBytes: 1_000,
  });
  expect((await admin.show(id)).deliveries).toEqual([
    {
      seq: 1,
      taskId: id,
      tool: "work",
      failedAt: expect.any(Number) as number,
      webhook: "main",
      event: "created",
      at: expect.any(Number) as number,
      tries: 1,
      nextAt: retried?.until,
      problem: expect.stringContaining("500") as string,
    },
  ]);
  await process.runtime.stop();
});
