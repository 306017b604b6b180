import { expect, it } from "vitest";
import { Process, text, type Handler } from "../runtime/harness.ts";
import { adminOf } from "./operator.ts";

const question = (message: string) => ({
  message,
  requestedSchema: { type: "object" as const, properties: {} },
});

/** How long a process that met a blocked task lets others come first. */
const yieldedMs = 1_000;

const asks =
  (message: string): Handler =>
  async (_args, task) => {
    await task.elicit("first", question("First?"));
    await task.elicit("second", question(message));
    return text("done");
  };

it("shows a task that a deploy does not fit, with the difference and the deploy", async () => {
  const first = await Process.started({ tools: { buy: asks("Ship it?") } });
  const id = await first.callId("buy");
  await first.asked(id);
  await first.answer(id, "first", { action: "accept" });
  await first.until(id, ({ inputs }) => inputs[0]?.key === "second");
  const second = await first.restart({ tools: { buy: asks("Ship it now?") }, options: { deploy: "abc123" } });
  await second.answer(id, "second", { action: "accept" });
  const admin = adminOf(second);
  const blocked = {
    reason: "replay",
    key: "second",
    was: 'the question "Ship it?"',
    is: 'the question "Ship it now?"',
    version: 1,
    deploy: "abc123",
    tries: 1,
  };
  await expect.poll(() => admin.show(id)).toMatchObject({ state: "blocked", waitsFor: null, blocked });
  expect((await admin.list({ states: ["blocked"] })).tasks.map((task) => task.id)).toEqual([id]);
  expect((await admin.counts()).tools).toMatchObject([{ tool: "buy", blocked: 1, queued: 0, waiting: 0 }]);
  const third = await second.restart({ tools: { buy: asks("Ship it?") } });
  await third.ended(id);
  expect(await adminOf(third).show(id)).toMatchObject({ state: "completed", blocked: null });
});

it("tries a blocked task again when an operator says so", async () => {
  let message = "Ship it?";
  const buy: Handler = async (args, task) => asks(message)(args, task);
  const first = await Process.started({ tools: { buy } });
  const id = await first.callId("buy");
  await first.asked(id);
  await first.answer(id, "first", { action: "accept" });
  await first.until(id, ({ inputs }) => inputs[0]?.key === "second");
  message = "Ship it now?";
  const second = await first.restart({ tools: { buy } });
  await second.answer(id, "second", { action: "accept" });
  const admin = adminOf(second);
  await expect.poll(() => admin.show(id)).toMatchObject({ state: "blocked", blocked: { tries: 1 } });
  expect(await admin.as("eve").unblock(id)).toMatchObject({ id, state: "blocked" });
  await second.clock.advance(yieldedMs);
  await expect.poll(() => admin.show(id)).toMatchObject({ state: "blocked", blocked: { tries: 2 } });
  message = "Ship it?";
  await admin.as("eve").unblock(id);
  await second.clock.advance(yieldedMs);
  await second.ended(id);
  expect(await admin.show(id)).toMatchObject({ state: "completed", blocked: null });
  const done = { actor: "eve", action: "unblock", taskId: id, tool: "buy" };
  expect(await admin.actions({ taskId: id })).toMatchObject([done, done]);
});

it("tries no task again that is not blocked", async () => {
  const process = await Process.started({ tools: { buy: asks("Ship it?") } });
  const id = await process.callId("buy");
  await process.asked(id);
  const eve = adminOf(process).as("eve");
  const message = `Task ${id} is not blocked, or is just being tried.`;
  await expect(eve.unblock(id)).rejects.toMatchObject({ code: "finished", message });
  await expect(eve.unblock("none")).rejects.toMatchObject({ code: "unknown_task" });
  await eve.cancel(id);
  await expect(eve.unblock(id)).rejects.toMatchObject({ code: "finished" });
  expect(await adminOf(process).actions({ taskId: id })).toMatchObject([{ action: "cancel" }]);
});
