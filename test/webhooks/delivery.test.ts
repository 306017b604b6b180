import { expect, test, vi } from "vitest";
import { memoryDatabase } from "../../src/store/sqlite/memory-store.ts";
import { aMoment, hookOf, HookedProcess, hour, secret } from "./hooked-process.ts";
import { CollectedMetrics } from "../telemetry/collected-metrics.ts";
import { accept, answerWith, isSigned, Receiver, type Received } from "./receiver.ts";

const other = `whsec_${Buffer.alloc(24, 9).toString("base64")}`;

test("a webhook is told of each status of a task, signed by each secret, and with an id of its own", async () => {
  await using receiver = await Receiver.start();
  const process = new HookedProcess({ webhooks: [hookOf(receiver, { secret: [other, secret] })] });
  await process.runtime.start();
  const id = await process.call();
  await process.clock.advance(aMoment);
  await process.told("webhook.delivered", 2);
  const messages = receiver.received;
  expect(messages.map(({ type, data }) => [type, data["status"]])).toEqual([
    ["task.created", "working"],
    ["task.completed", "completed"],
  ]);
  const [created] = messages;
  const version = created?.data["version"];
  expect(created).toMatchObject({ id: `${id}_1`, timestamp: Math.floor(process.clock.now() / 1_000) });
  expect(JSON.parse(created?.body ?? "")).toEqual({
    type: "task.created",
    timestamp: "2026-01-01T00:00:00.000Z",
    data: {
      taskId: id,
      tool: "work",
      principal: "ann",
      generation: "2026-07-28",
      status: "working",
      version,
    },
  });
  for (const message of messages) {
    expect(message.signatures).toHaveLength(2);
    expect([isSigned(message, secret), isSigned(message, other)]).toEqual([true, true]);
    expect(isSigned({ ...message, body: `${message.body} ` }, secret)).toBe(false);
  }
  await process.runtime.stop();
  expect(process.errors).toEqual([]);
});

test("what fails is sent again as it was, later and later, until three days are over; then an operator can have it sent again", async () => {
  await using receiver = await Receiver.start(answerWith(500));
  const hook = hookOf(receiver, { events: ["task.created"] });
  const process = new HookedProcess({ webhooks: [hook] });
  await process.runtime.start();
  await process.call();
  await process.clock.advance(aMoment);
  const pauses: number[] = [];
  for (let tries = 1; ; tries++) {
    await receiver.has(tries);
    const ended = await Promise.race([
      process.told("webhook.retried", tries).then(() => false),
      process.told("webhook.failed").then(() => true),
    ]);
    if (ended) break;
    const { until, at, problem } = (await process.told("webhook.retried", tries)).at(-1) ?? {
      until: 0,
      at: 0,
    };
    expect(problem).toBe("HTTP 500");
    pauses.push(until - at);
    for (const stop = until + 1; process.clock.now() < stop;)
      await process.clock.advance(Math.min(50_000, stop - process.clock.now()));
  }
  expect(pauses[0]).toBeLessThanOrEqual(5_000);
  expect(Math.max(...pauses)).toBeLessThanOrEqual(6 * hour);
  expect(pauses.length).toBeGreaterThan(12);
  expect(new Set(receiver.received.map(({ id, body }) => id + body)).size).toBe(1);
  expect(await process.runtime.store.outbox?.counts(9)).toMatchObject([
    { hook: "main", waiting: 0, givenUp: 1 },
  ]);
  receiver.answering = accept;
  const resend = { type: "resend_deliveries", now: process.clock.now(), hook: "main", limit: 9 } as const;
  await process.runtime.store.write(resend);
  await process.clock.advance(60_000);
  await process.told("webhook.delivered");
  await process.runtime.stop();
}, 60_000);

test.each([
  ["back", -24 * hour],
  ["ahead", 9 * 24 * hour],
])("what failed is sent again within its pause, and not dropped, if the clock is set %s", async (_, jump) => {
  await using receiver = await Receiver.start(answerWith(500));
  const process = new HookedProcess({ webhooks: [hookOf(receiver, { events: ["task.created"] })] });
  await process.runtime.start();
  await process.call();
  await process.clock.advance(aMoment);
  await process.told("webhook.retried");
  process.clock.jump(jump);
  await process.clock.advance(2_000);
  await process.clock.advance(61_000); // what is too old is dropped each minute
  await process.told("webhook.retried", 2);
  receiver.answering = accept;
  await vi.waitUntil(async () => {
    await process.clock.advance(60_000);
    return process.events.some(({ type }) => type === "webhook.delivered" || type === "webhook.dropped");
  });
  await process.runtime.stop();
  expect(process.events.map(({ type }) => type)).not.toContain("webhook.dropped");
});

test("a webhook that hangs holds up no other one", async () => {
  await using hanging = await Receiver.start(() => undefined);
  await using receiver = await Receiver.start();
  const webhooks = [hookOf(hanging, { name: "hangs", concurrency: 1 }), hookOf(receiver)];
  const process = new HookedProcess({ webhooks });
  await process.runtime.start();
  for (let calls = 0; calls < 5; calls++) await process.call();
  await process.clock.advance(aMoment);
  await receiver.has(10);
  expect(hanging.received).toHaveLength(1);
  await process.clock.advance(10_000);
  const [late] = await process.told("webhook.retried");
  expect(late).toMatchObject({ webhook: "hangs", problem: "no answer within 10000 ms" });
  await process.runtime.stop(0);
});

test("a webhook whose answers never end is told of all the same, one message after the other", async () => {
  await using receiver = await Receiver.start(({ answer }) => void answer.writeHead(200).write("and"));
  const process = new HookedProcess({ webhooks: [hookOf(receiver, { concurrency: 1 })] });
  await process.runtime.start();
  await process.call();
  await process.clock.advance(aMoment);
  for (let messages = 1; messages <= 2; messages++) {
    await receiver.has(messages);
    await process.clock.advance(10_000);
    await process.told("webhook.delivered", messages);
  }
  expect(receiver.distinct).toHaveLength(2);
  expect(receiver.received).toHaveLength(2);
  await process.runtime.stop(0);
});

test("messages are taken many at a time, and those not begun at a stop are left to others at once", async () => {
  await using receiver = await Receiver.start(() => undefined);
  const database = memoryDatabase();
  const process = new HookedProcess({ webhooks: [hookOf(receiver, { concurrency: 1 })], database });
  await process.runtime.start();
  for (let calls = 0; calls < 5; calls++) await process.call();
  await process.clock.advance(aMoment);
  await receiver.has(1);
  const claim = { type: "claim_deliveries", hook: "main", limit: 99 } as const;
  const taken = (): Promise<unknown> => {
    const now = process.clock.now();
    return process.store.write({ ...claim, now, until: now + hour });
  };
  expect(await taken()).toMatchObject({ deliveries: [] });
  const stopped = process.runtime.stop(0);
  await process.clock.advance(1);
  await stopped;
  await using later = await Receiver.start();
  const next = new HookedProcess({
    webhooks: [hookOf(later)],
    database,
    clock: process.clock,
  });
  await next.runtime.start();
  await process.clock.advance(aMoment);
  const delivered = await next.told("webhook.delivered", 10);
  // The one that was sent before the stop has two tries behind it; the others were not begun.
  expect(delivered.map(({ tries }) => tries).toSorted((a, b) => a - b)).toEqual([
    1, 1, 1, 1, 1, 1, 1, 1, 1, 2,
  ]);
  expect(later.distinct).toHaveLength(10);
  await next.runtime.stop();
});

test("a webhook that asks for another protocol has failed, and nobody waits for it", async () => {
  const upgrade = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n";
  await using receiver = await Receiver.start(({ answer }) => void answer.socket?.write(upgrade));
  const process = new HookedProcess({ webhooks: [hookOf(receiver, { concurrency: 1 })] });
  await process.runtime.start();
  await process.call();
  await process.clock.advance(aMoment);
  const [retried] = await process.told("webhook.retried");
  expect(retried).toMatchObject({ webhook: "main", problem: "HTTP 101" });
  await process.runtime.stop();
});

test("one that is gone is sent nothing more", async () => {
  await using receiver = await Receiver.start(answerWith(410));
  const process = new HookedProcess({ webhooks: [hookOf(receiver, { concurrency: 1 })] });
  await process.runtime.start();
  await process.call();
  await process.clock.advance(aMoment);
  expect(await process.told("webhook.stopped")).toMatchObject([{ webhook: "main" }]);
  await process.told("webhook.retried");
  await process.clock.advance(120_000);
  expect(receiver.received).toHaveLength(1);
  await process.runtime.stop();
});

test("one that is busy says when to send again", async () => {
  await using receiver = await Receiver.start(answerWith(503, { "retry-after": "3600" }));
  const process = new HookedProcess({ webhooks: [hookOf(receiver, { events: ["task.created"] })] });
  await process.runtime.start();
  await process.call();
  await process.clock.advance(aMoment);
  const [told] = await process.told("webhook.retried");
  expect((told?.until ?? 0) - (told?.at ?? 0)).toBe(hour);
  await process.runtime.stop();
});

test("a redirect is not followed", async () => {
  await using target = await Receiver.start();
  await using receiver = await Receiver.start(answerWith(307, { location: target.url }));
  const process = new HookedProcess({ webhooks: [hookOf(receiver, { concurrency: 1 })] });
  await process.runtime.start();
  await process.call();
  await process.clock.advance(aMoment);
  const [told] = await process.told("webhook.retried");
  expect(told?.problem).toBe("HTTP 307: redirects are not followed");
  expect(target.received).toEqual([]);
  await process.runtime.stop();
});

test("an orderly stop waits for an answer, and what gets none in time is sent by the next process", async () => {
  const hanging: Received[] = [];
  await using receiver = await Receiver.start((message) => void hanging.push(message));
  const database = memoryDatabase();
  const hook = hookOf(receiver, { concurrency: 1 });
  const first = new HookedProcess({ webhooks: [hook], database });
  await first.runtime.start();
  await first.call();
  await first.clock.advance(aMoment);
  await receiver.has(1);
  const stopped = first.runtime.stop(5_000);
  for (const message of hanging.splice(0)) accept(message);
  await first.told("webhook.delivered");
  await stopped;

  const second = new HookedProcess({ webhooks: [hook], database, clock: first.clock });
  await second.runtime.start();
  await receiver.has(2);
  const late = second.runtime.stop(5_000);
  await second.clock.advance(5_000);
  await late;
  expect(second.events.filter(({ type }) => type.startsWith("webhook"))).toEqual([]);

  receiver.answering = accept;
  const third = new HookedProcess({ webhooks: [hook], database, clock: first.clock });
  await third.runtime.start();
  const [delivered] = await third.told("webhook.delivered");
  expect(delivered).toMatchObject({ status: "completed", tries: 2 });
  await third.runtime.stop();
  expect(receiver.distinct).toHaveLength(2);
});

test("a process that only serves leaves it to one that works; a task that it made is told all the same", async () => {
  await using receiver = await Receiver.start();
  const database = memoryDatabase();
  const webhooks = [hookOf(receiver)];
  const serving = new HookedProcess({ webhooks, database, options: { roles: ["serve"] } });
  await serving.runtime.start();
  await serving.call();
  await serving.clock.advance(120_000);
  expect(receiver.received).toEqual([]);
  const working = new HookedProcess({ webhooks, database, clock: serving.clock });
  await working.runtime.start();
  await working.told("task.settled");
  await working.clock.advance(aMoment);
  await working.told("webhook.delivered", 2);
  expect(receiver.received.map(({ type }) => type).sort()).toEqual(["task.completed", "task.created"]);
  await Promise.all([serving.runtime.stop(), working.runtime.stop()]);
});

test("beyond what may wait the oldest are dropped, and operators are told", async () => {
  await using receiver = await Receiver.start(answerWith(500));
  const process = new HookedProcess({ webhooks: [hookOf(receiver)], options: { maxDeliveries: 3 } });
  await process.runtime.start();
  for (let calls = 0; calls < 5; calls++) await process.call();
  await process.clock.advance(aMoment);
  await process.told("webhook.retried");
  await process.clock.advance(60_000);
  expect(await process.told("webhook.dropped")).toMatchObject([{ deliveries: 7 }]);
  await process.runtime.stop(0);
});

test("a process that only serves sees to the bound as well: it is who makes what waits", async () => {
  await using receiver = await Receiver.start();
  const options = { maxDeliveries: 2, roles: ["serve"] } as const;
  const process = new HookedProcess({ webhooks: [hookOf(receiver)], options });
  await process.runtime.start();
  for (let calls = 0; calls < 5; calls++) await process.call();
  await process.clock.advance(60_000);
  expect(await process.told("webhook.dropped")).toMatchObject([{ deliveries: 3 }]);
  expect(receiver.received).toEqual([]);
  await process.runtime.stop(0);
});

test("without webhooks nothing is kept", async () => {
  const process = new HookedProcess({ webhooks: [] });
  await process.runtime.start();
  const id = await process.call();
  await process.told("task.settled");
  expect(await process.runtime.store.outbox?.counts(9)).toEqual([]);
  expect((await process.runtime.store.get(id))?.notifies).toBeUndefined();
  await process.runtime.stop();
});

test("metrics say how often messages are sent, what came of it, and what waits since when", async () => {
  await using receiver = await Receiver.start(answerWith(500));
  const metrics = new CollectedMetrics();
  const hook = hookOf(receiver, { events: ["task.created"] });
  const process = new HookedProcess({ webhooks: [hook], telemetry: metrics.telemetry });
  await process.runtime.start();
  await process.call();
  await process.clock.advance(aMoment);
  await process.told("webhook.retried");
  const name = { "holdfast.webhook.name": "main" };
  const sent = (outcome: string, value: number) => ({
    attributes: { ...name, "holdfast.webhook.outcome": outcome },
    value,
  });
  expect(await metrics.points("holdfast.webhook.sends")).toEqual([sent("retried", 1)]);
  const messages = await metrics.points("holdfast.webhook.messages");
  expect(messages).toContainEqual({
    attributes: { ...name, "holdfast.webhook.state": "given_up" },
    value: 0,
  });
  const [age] = await metrics.points("holdfast.webhook.age");
  expect(age).toEqual({ attributes: name, value: aMoment / 1_000 });
  receiver.answering = accept;
  await process.clock.advance(60_000);
  await process.told("webhook.delivered");
  expect(await metrics.points("holdfast.webhook.sends")).toEqual([sent("retried", 1), sent("delivered", 1)]);
  await process.runtime.stop();
});
