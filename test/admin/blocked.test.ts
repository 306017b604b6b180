import { expect, it } from "vitest";
import { Process, text, type Handler } from "../runtime/harness.ts";
import { adminOf } from "./operator.ts";

const question = (message: string) => ({
  message,
  requestedSchema: { type: "object" as const, properties: {} },
});

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
