import { expect, it } from "vitest";
import { Process, text, type Handler } from "./harness.ts";

const alice = { principal: "alice" };
const bob = { principal: "bob" };

const full = expect.objectContaining({ code: "limit_reached", data: { retryAfterMs: 5_000 } }) as unknown;

/** Runs until it is let go. */
function holding(): { hold: Handler; letGo: () => void } {
  const held = Promise.withResolvers<void>();
  const hold: Handler = async () => {
    await held.promise;
    return text("held");
  };
  return { hold, letGo: () => held.resolve() };
}

it("refuses a task that does not fit its principal's share, and lets others in [C-124]", async () => {
  const { hold, letGo } = holding();
  const process = await Process.started({ tools: { hold }, options: { maxUnfinishedPerPrincipal: 20 } });
  // All at once: none slips in between the look and the insert.
  const calls = await Promise.allSettled(Array.from({ length: 50 }, () => process.call("hold", alice)));
  const refused = calls.filter(({ status }) => status === "rejected");
  expect(refused).toHaveLength(30);
  expect(refused).toEqual(refused.map(() => ({ status: "rejected", reason: full })));
  await process.call("hold", bob);
  letGo();
  const last = calls.find((call) => call.status === "fulfilled");
  await process.until(last?.value.task.id ?? "", ({ task }) => task.finishedAt !== null, {
    generation: "2026-07-28",
    ...alice,
  });
  await expect(process.call("hold", alice)).resolves.toBeDefined();
  expect(process.errors).toEqual([]);
});

it("gives the slot of a refused task to the next", async () => {
  const { hold, letGo } = holding();
  const options = { maxUnfinishedPerPrincipal: 1, concurrency: 2 };
  const process = await Process.started({ tools: { hold, add: () => text("3") }, options });
  await process.call("hold", alice);
  for (let i = 0; i < 5; i += 1) await expect(process.call("hold", alice)).rejects.toEqual(full);
  const id = await process.callId("add");
  await process.until(id, ({ task }) => task.finishedAt !== null);
  letGo();
});

it("counts ended tasks as long as they are kept, and everybody's against the total", async () => {
  const options = { maxRetainedPerPrincipal: 2, maxRetained: 4, ttlMs: 1_000 };
  const process = await Process.started({ tools: { add: () => text("3") }, options });
  await process.call("add", alice);
  await process.call("add", alice);
  await expect(process.call("add", alice)).rejects.toEqual(full);
  await process.call("add");
  await process.call("add", bob);
  await expect(process.call("add")).rejects.toEqual(full);
  await process.clock.advance(10_000);
  await expect(process.call("add", alice)).resolves.toBeDefined();
});

it("finds a repeated call under its key however full it is [A-48]", async () => {
  const { hold, letGo } = holding();
  const process = await Process.started({ tools: { hold }, options: { maxUnfinishedPerPrincipal: 1 } });
  const keyed = { ...alice, idempotencyKey: "k" };
  const first = await process.call("hold", keyed);
  expect((await process.call("hold", keyed)).task.id).toBe(first.task.id);
  letGo();
});

it("counts what a crash left behind", async () => {
  const { hold, letGo } = holding();
  const config = { onCrash: "resume" as const };
  const setup = { tools: { hold: { config, handler: hold } }, options: { maxUnfinishedPerPrincipal: 1 } };
  const process = await Process.started(setup);
  await process.call("hold", alice);
  const next = await process.crash(setup);
  await expect(next.call("hold", alice)).rejects.toEqual(full);
  letGo();
});

it("fails the question that is one too many, in its handler", async () => {
  const asks: Handler = async (_args, task) => {
    const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
    const questions = ["a", "b", "c"].map((key) => task.elicit(key, question));
    await expect(questions[2]).rejects.toMatchObject({ code: "limit_reached" });
    await Promise.all(questions.slice(0, 2));
    return text("asked two");
  };
  const process = await Process.started({ tools: { asks }, options: { maxInputsPerTask: 2 } });
  const id = await process.callId("asks");
  for (const key of ["a", "b"]) {
    await process.journalHas(id, key);
    await process.answer(id, key, { action: "accept", content: {} });
  }
  const { outcome } = await process.until(id, ({ task }) => task.finishedAt !== null);
  expect(outcome?.body).toContain("asked two");
});

it("has room again soon after calls whose results nobody comes back for", async () => {
  const options = { maxRetainedPerPrincipal: 2, ttlMs: 3_600_000 };
  const process = await Process.started({ tools: { add: () => text("3") }, options });
  const waited = { ...alice, generation: "plain" as const, keptMs: 1_000 };
  const { task } = await process.call("add", waited);
  expect(task.expiry).toEqual({ from: "terminal", ms: 1_000 });
  expect(task.runUntil).toBe(task.createdAt + 3_600_000);
  await process.call("add", waited);
  await expect(process.call("add", waited)).rejects.toEqual(full);
  await process.clock.advance(120_000);
  await expect(process.call("add", waited)).resolves.toBeDefined();
});
