import { expect, it } from "vitest";
import { memoryDatabase } from "../../src/store/sqlite/memory-store.ts";
import { CrashableStore } from "../../src/testing/crashable-store.ts";
import { bodyOf, Process, text, type Handler, type Setup } from "../runtime/harness.ts";
import { adminOf } from "./operator.ts";

const question = { message: "Go on?", requestedSchema: { type: "object" as const, properties: {} } };

it("cancels a task that runs, whose handler hears of it, and records who did", async () => {
  const aborted = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const slow: Handler = async (_args, task) => {
    task.signal.addEventListener("abort", () => aborted.resolve());
    begun.resolve();
    await aborted.promise;
    return text("too late");
  };
  const process = await Process.started({ tools: { slow } });
  const admin = adminOf(process);
  const id = await process.callId("slow");
  await begun.promise;
  expect(await admin.as("ann").cancel(id)).toMatchObject({ id, state: "cancelled" });
  await aborted.promise;
  expect((await process.get(id)).task.state).toBe("cancelled");
  await expect(admin.as("ann").cancel(id)).rejects.toMatchObject({ code: "finished" });
  expect(await admin.actions()).toMatchObject([
    { actor: "ann", action: "cancel", taskId: id, tool: "slow", at: process.clock.now() },
  ]);
});

it("answers a question, and refuses what is no answer to it", async () => {
  const ask: Handler = async (_args, task) => text(JSON.stringify(await task.elicit("go", question)));
  const process = await Process.started({ tools: { ask } });
  const admin = adminOf(process);
  const id = await process.callId("ask");
  await process.until(id, ({ inputs }) => inputs.length > 0);
  expect((await admin.show(id)).questions).toMatchObject([{ key: "go", params: question }]);
  expect((await admin.list({ states: ["input_required"] })).tasks).toMatchObject([{ id }]);
  await expect(admin.as("ann").answer(id, { go: { action: "perhaps" } })).rejects.toMatchObject({
    code: "invalid_params",
  });
  await expect(admin.as("ann").answer(id, { stay: { action: "accept" } })).rejects.toMatchObject({
    code: "finished",
  });
  await admin.as("ann").answer(id, { go: { action: "accept", content: {} } });
  expect(bodyOf(await process.ended(id))).toEqual(text('{"action":"accept","content":{}}'));
  expect(await admin.actions()).toMatchObject([{ action: "answer", detail: { keys: ["go"] } }]);
});

it("runs a failed task again, as one that names it, with the journal up to a step or with other arguments", async () => {
  const runs: string[] = [];
  let isBroken = true;
  const publish: Handler = async (args, task) => {
    const page = await task.step("render", () => runs.push("render"));
    await task.step("check", () => runs.push("check"));
    await task.step("send", () => {
      runs.push("send");
      if (isBroken) throw new Error("no route to host");
    });
    return text(`${page} ${JSON.stringify(args)}`);
  };
  const tools = {
    publish: { config: { onCrash: "resume" as const }, handler: publish },
  };
  const process = await Process.started({ tools });
  const admin = adminOf(process);
  const id = await process.callId("publish", { arguments: { month: "2026-10" } });
  await process.ended(id);
  expect((await admin.list({ states: ["failed"] })).tasks).toMatchObject([
    { id, error: expect.stringContaining("no route to host") as string },
  ]);
  isBroken = false;
  runs.length = 0;
  const again = await admin.as("ann").retry(id, { keepUpTo: "check" });
  expect(bodyOf(await process.ended(again.id))).toEqual(text('1 {"month":"2026-10"}'));
  expect(runs).toEqual(["send"]);
  expect(await admin.show(again.id)).toMatchObject({ retryOf: id, arguments: { month: "2026-10" } });
  const other = await admin.as("ann").retry(id, { arguments: { month: "2026-11" } });
  expect(bodyOf(await process.ended(other.id))).toEqual(text('2 {"month":"2026-11"}'));
  await expect(admin.as("ann").retry(id, { keepUpTo: "send" })).rejects.toMatchObject({
    code: "invalid_params",
  });
  expect(await admin.show(id)).toMatchObject({
    state: "failed",
    actions: [
      { action: "retry", tool: "publish", detail: { ranAgainAs: other.id } },
      { action: "retry", detail: { ranAgainAs: again.id, keepUpTo: "check" } },
    ],
  });
});

it("extends, deletes, and runs again only what can be", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const slow: Handler = async () => {
    await promise;
    return text("done");
  };
  const process = await Process.started({ tools: { slow } });
  const admin = adminOf(process);
  const ann = admin.as("ann");
  const id = await process.callId("slow");
  const until = process.clock.now() + 400 * 24 * 3_600_000;
  expect(await ann.extend(id, until)).toMatchObject({ expiresAt: until });
  for (const refused of [() => ann.delete(id), () => ann.retry(id)])
    await expect(refused()).rejects.toMatchObject({ code: "unfinished" });
  await expect(ann.extend(id, 0)).rejects.toMatchObject({ code: "invalid_params" });
  resolve();
  await process.ended(id);
  expect(await ann.extend(id, null)).toMatchObject({ expiresAt: null });
  await ann.delete(id);
  for (const gone of [
    () => admin.show(id),
    () => ann.cancel(id),
    () => ann.extend(id, null),
    () => ann.delete(id),
    () => ann.retry(id),
  ])
    await expect(gone()).rejects.toMatchObject({ code: "unknown_task" });
  expect((await admin.actions({ taskId: id })).map(({ action }) => action)).toEqual([
    "delete",
    "extend",
    "extend",
  ]);
  expect(() => admin.as(" ")).toThrow("the operator's name, which must not be empty");
});

it("starts no tasks of a paused tool in any process until it is resumed", async () => {
  const runs: string[] = [];
  const setup = (name: string): Setup => {
    const config = { onCrash: "resume" as const };
    const of = (tool: string) => ({
      config,
      handler: (() => (runs.push(`${tool} ${name}`), text(tool))) as Handler,
    });
    return { tools: { publish: of("publish"), other: of("other") } };
  };
  const database = memoryDatabase();
  const first = new Process(setup("a"), undefined, new CrashableStore(undefined, database));
  const second = new Process(setup("b"), first.clock, new CrashableStore(undefined, database));
  await first.runtime.start();
  await second.runtime.start();
  const admin = adminOf(first);
  await admin.as("ann").pause("publish");
  await first.clock.advance(1_000);
  const ids = [await first.callId("publish"), await second.callId("publish", { queued: true })];
  await first.ended(await first.callId("other"));
  await second.ended(await second.callId("other"));
  await first.clock.advance(5_000);
  expect(runs).toEqual(["other a", "other b"]);
  expect(await first.runInline("publish")).toMatchObject({
    kind: "error_result",
    body: expect.stringContaining("paused") as string,
  });
  expect((await admin.counts()).tools).toMatchObject([
    { tool: "other", queued: 0, waiting: 0, running: 0, completed: 2, paused: null },
    { tool: "publish", queued: 2, paused: { actor: "ann" } },
  ]);
  await admin.as("ann").resume("publish");
  await first.clock.advance(1_000);
  for (const id of ids) await first.ended(id);
  expect(runs.filter((run) => run.startsWith("publish"))).toHaveLength(2);
});

it("does the same to many, or only says to which", async () => {
  let isBroken = true;
  const publish: Handler = () => {
    if (isBroken) throw new Error("no route to host 10.0.0.7");
    return text("sent");
  };
  const process = await Process.started({
    tools: { publish: { config: {}, handler: publish } },
  });
  const admin = adminOf(process);
  const ann = admin.as("ann");
  const ids: string[] = [];
  for (let n = 0; n < 130; n++) {
    ids.push(await process.callId("publish"));
    process.clock.jump(1);
  }
  for (const id of ids) await process.ended(id);
  expect(await admin.failures("publish")).toMatchObject([
    { message: expect.stringContaining("no route to host") as string, count: 130, taskId: ids.at(-1) },
  ]);
  isBroken = false;
  const failed = { tool: "publish", states: ["failed" as const] };
  const dry = await ann.bulk("retry", failed, { dryRun: true });
  expect(dry).toMatchObject({ done: ids.toReversed(), created: [], refused: [] });
  const some = await ann.bulk("retry", failed, { limit: 100 });
  expect([some.done.length, some.created.length]).toEqual([100, 100]);
  const rest = await ann.bulk("retry", failed);
  expect(rest).toMatchObject({ done: ids.slice(0, 30).toReversed() });
  for (const id of [...some.created, ...rest.created]) await process.ended(id);
  expect((await admin.counts()).tools).toMatchObject([{ tool: "publish", completed: 130, failed: 130 }]);
  for (const retried of [false, true])
    expect(await ann.bulk("delete", { tool: "publish", retried }, { limit: 1_000 })).toMatchObject({
      refused: [],
    });
  expect((await admin.list()).tasks).toEqual([]);
  await expect(ann.bulk("cancel", {}, { limit: 0 })).rejects.toMatchObject({ code: "invalid_params" });
  await expect(ann.bulk("extend", {})).rejects.toMatchObject({ code: "invalid_params" });
});
