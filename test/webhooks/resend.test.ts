import { expect, test } from "vitest";
import { createAdmin } from "../../src/admin/create-admin.ts";
import type { Admin } from "../../src/admin/operations.ts";
import { aMoment, hookOf, HookedProcess, hour } from "./hooked-process.ts";
import { accept, answerWith, Receiver } from "./receiver.ts";

function adminOf({ store, clock, runtime }: HookedProcess): Admin {
  return createAdmin({
    store,
    now: () => clock.now(),
    after: (ms, run) => clock.after(ms, run),
    every: (ms, run) => clock.every(ms, run),
    randomBytes: (size) => clock.randomBytes(size),
    maxBodyBytes: runtime.options.maxBodyBytes,
  });
}

test("messages that wait are sent at once, and those that were delivered in a range are told anew, after a look at how many", async () => {
  await using receiver = await Receiver.start();
  const process = new HookedProcess({ webhooks: [hookOf(receiver)] });
  await process.runtime.start();
  const admin = adminOf(process);
  const ann = admin.as("ann");
  const early = await process.call();
  await process.clock.advance(aMoment);
  await process.told("webhook.delivered", 2);
  await process.clock.advance(hour);
  const from = process.clock.now();
  const lost = [await process.call(), await process.call()];
  await process.clock.advance(aMoment);
  await process.told("webhook.delivered", 6);
  await process.clock.advance(hour);
  const before = process.clock.now();
  receiver.answering = answerWith(503);
  await process.call();
  await process.clock.advance(aMoment);
  await process.told("webhook.retried");
  const [backlog] = await admin.webhooks();
  expect(backlog).toMatchObject({ webhook: "main", waiting: 2, oldestAt: before, givenUp: 0 });

  const range = { waiting: true, changedFrom: from, changedBefore: before };
  expect(await ann.resend("main", { ...range, dryRun: true })).toEqual({ resent: 2, delivered: 2 });
  expect(await ann.resend("main", { ...range, tool: "other", dryRun: true })).toEqual({
    resent: 2,
    delivered: 0,
  });
  expect(await ann.resend("none", { ...range, dryRun: true })).toEqual({ resent: 0, delivered: 0 });
  expect(await admin.actions()).toEqual([]);
  receiver.answering = accept;
  const sentBefore = receiver.received.length;
  const { delivered } = await ann.resend("main", { ...range, tool: "work" });
  expect(delivered).toBe(2);
  await process.clock.advance(60_000);
  await process.told("webhook.delivered", 10);
  const again = receiver.received.slice(sentBefore);
  const told = again.filter(({ data }) => lost.includes(String(data["taskId"])));
  expect(told.map(({ type }) => type)).toEqual(["task.completed", "task.completed"]);
  expect(again.some(({ data }) => data["taskId"] === early)).toBe(false);
  expect(await admin.webhooks()).toEqual([]);
  const actions = await admin.actions();
  expect(actions).toMatchObject([{ actor: "ann", action: "resend", detail: { webhook: "main", ...range } }]);
  await expect(ann.resend("main", { tool: "work" })).rejects.toMatchObject({
    code: "invalid_params",
    message: "Give changedFrom: from when on the tasks changed whose messages were delivered.",
  });
  await process.runtime.stop();
});
