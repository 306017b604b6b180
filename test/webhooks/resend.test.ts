import { expect, test } from "vitest";
import { createAdmin } from "../../src/admin/create-admin.ts";
import type { Admin } from "../../src/admin/operations.ts";
import type { DeliveryQuery } from "../../src/admin/task-parts.ts";
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

test("undelivered messages are listed by what became of them, and chosen ones are sent again", async () => {
  await using receiver = await Receiver.start();
  receiver.answering = answerWith(503);
  const process = new HookedProcess({ webhooks: [hookOf(receiver, { events: ["task.completed"] })] });
  await process.runtime.start();
  const admin = adminOf(process);
  const ann = admin.as("ann");
  const ids = [await process.call(), await process.call(), await process.call()];
  await process.clock.advance(aMoment);
  await process.told("webhook.retried");
  const all = await admin.deliveries();
  expect(all.deliveries.map(({ taskId }) => taskId).toSorted()).toEqual(ids.toSorted());
  expect(all.next).toBeNull();
  const seqs = all.deliveries.map(({ seq }) => seq);
  expect(seqs).toEqual(seqs.toSorted((a, b) => b - a));
  const page = await admin.deliveries({ limit: 2 });
  const rest = await admin.deliveries({ after: page.next ?? 0 });
  expect([...page.deliveries, ...rest.deliveries]).toEqual(all.deliveries);

  const [failed, ...others] = (await admin.deliveries({ failed: true })).deliveries;
  expect(failed).toMatchObject({ webhook: "main", event: "completed", tool: "work", tries: 1 });
  expect(failed?.problem).toContain("503");
  expect(failed?.nextAt).toBeGreaterThan(process.clock.now());
  const none: readonly DeliveryQuery[] = [
    { state: "given_up" },
    { webhook: "other" },
    { tool: "other" },
    { taskId: "other" },
    { changedFrom: process.clock.now() + hour },
    { changedBefore: 1 },
  ];
  for (const query of none) expect(await admin.deliveries(query)).toEqual({ deliveries: [], next: null });
  const about = { state: "waiting", webhook: "main", tool: "work", taskId: failed?.taskId ?? "" } as const;
  expect((await admin.deliveries(about)).deliveries).toEqual([failed]);

  const messages = [failed?.seq ?? 0];
  expect(await ann.resend("main", { messages, dryRun: true })).toEqual({ resent: 1, delivered: 0 });
  expect(await ann.resend("other", { messages })).toEqual({ resent: 0, delivered: 0 });
  await expect(ann.resend("main", { messages, waiting: true })).rejects.toMatchObject({
    code: "invalid_params",
  });
  const twice = { messages: [...messages, ...messages, 9_999] };
  expect(await ann.resend("main", twice)).toEqual({ resent: 1, delivered: 0 });
  expect((await admin.deliveries(about)).deliveries).toEqual([{ ...failed, nextAt: process.clock.now() }]);
  expect((await admin.deliveries({ failed: true })).deliveries.slice(1)).toEqual(others);
  expect((await admin.actions())[0]).toMatchObject({
    action: "resend",
    detail: { webhook: "main", ...twice },
  });
  await process.runtime.stop();
});
