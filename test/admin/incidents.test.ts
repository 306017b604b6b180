import { DatabaseSync } from "node:sqlite";
import { memoryStore } from "holdfast/memory";
import { sqliteStore } from "holdfast/sqlite";
import { expect, it } from "vitest";
import { incidentsIn } from "../../src/admin/incidents.ts";
import type { Admin } from "../../src/admin/operations.ts";
import { Process, text, type Handler } from "../runtime/harness.ts";
import { aHandler, createRunning, noon, owner } from "../../src/testing/sample-task.ts";
import type { TaskStore } from "../../src/store/store.ts";
import { useTempDirectory } from "../store/sqlite/temp-directory.ts";
import { adminOf } from "./operator.ts";

const files = useTempDirectory();

const id = (n: number): string => (((n + 1) * 0.618033988749895) % 1).toString(36).slice(2, 12);

const charge: Handler = async (args, task) => {
  const { order, cause } = args as { order: string; cause?: string };
  return text(
    await task.step("charge", () => {
      if (cause === "gateway") throw new Error(`Payment gateway answered 502 for order ${order}`);
      if (cause === "card") throw new TypeError(`Card of order ${order} has expired`);
      return "charged";
    }),
  );
};

/** Calls the tool so often, each time for another order, until all have ended. */
async function fail(process: Process, cause: string, principals: readonly string[]): Promise<string[]> {
  const ids: string[] = [];
  for (const [n, principal] of principals.entries()) {
    const args = { order: id(n), cause };
    ids.push(await process.callId("charge", { arguments: args, principal }));
  }
  for (const each of ids)
    await expect.poll(async () => (await process.store.get(each))?.state).toBe("settled");
  return ids;
}

async function failNow(store: TaskStore, name: string, statusMessage: string): Promise<void> {
  await store.write(createRunning(name));
  const outcome = { kind: "error_result", body: '{"content":[],"isError":true}' } as const;
  const ending = { outcome, statusMessage, failure: { name: "Error", step: "charge" } };
  await store.write({ type: "settle", now: noon, id: `task-${name}`, token: "t1", ...ending });
}

async function short(admin: Admin): Promise<unknown[]> {
  const incidents = await admin.incidents();
  return incidents.map(({ message, open, tasks, callers, muted, note }) => [
    message,
    open,
    tasks,
    callers,
    muted,
    note,
  ]);
}

const gateway = "Payment gateway answered … for order …";
const card = "Card of order … has expired";

it("lists failures by cause, with who is hit and since when, and retries all of one cause, once", async () => {
  const process = await Process.started({ tools: { charge } });
  const admin = adminOf(process);
  const ann = admin.as("ann");
  expect(await admin.incidents()).toEqual([]);
  const begun = process.clock.now();
  await fail(process, "gateway", ["a", "b", "a", "c"]);
  process.clock.jump(6 * 60_000);
  const cards = await fail(process, "card", ["d", "d"]);
  expect(await short(admin)).toEqual([
    [card, 2, 2, 1, false, null],
    [gateway, 4, 4, 3, false, null],
  ]);
  const [newest, older] = await admin.incidents();
  expect(newest).toMatchObject({ tool: "charge", firstVersion: 1, lastVersion: 1 });
  expect(cards).toContain(newest?.taskId);
  expect(newest?.error).toMatch(/^Card of order \w+ has expired$/);
  expect(older).toMatchObject({ firstAt: begun, trend: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0] });
  expect(await admin.incidents({ tool: "other" })).toEqual([]);
  // A cause is a filter, and all of it is run again: those of another cause are left alone.
  const cause = older?.cause ?? "";
  expect((await admin.list({ cause })).tasks.map(({ error }) => error?.slice(0, 15))).toHaveLength(4);
  expect((await admin.bulkJob((await ann.bulk("retry", { cause }, { dryRun: true })).job)).counts.total).toBe(
    4,
  );
  process.clock.jump(60_000); // what fails again fails later than the others
  const { done, refused } = await ann.bulk("retry", { cause });
  expect([done.length, refused]).toEqual([4, []]);
  await expect
    .poll(() => short(admin))
    .toEqual([
      [gateway, 4, 8, 3, false, null],
      [card, 2, 2, 1, false, null],
    ]);
  expect((await admin.list({ cause, retried: true })).tasks).toHaveLength(4);
  await process.runtime.stop();
});

it("a cause that fails often hides neither others nor its own older failures", async () => {
  const store = memoryStore();
  await store.open({ id: owner, handlers: [aHandler] });
  for (let n = 0; n < 3; n++) await failNow(store, `a${n}`, "The gateway is away");
  for (let n = 0; n < 8; n++) await failNow(store, `b${n}`, "The card has expired");
  const found = await incidentsIn(store, noon, { tool: undefined, limit: 9, newest: 5 });
  expect(found.map(({ open, tasks }) => `${open} of ${tasks}`).sort()).toEqual(["3 of 3", "8 of 8"]);
  await store.close();
});

it("tasks that cannot be read hide no others", async () => {
  const path = files.path();
  const store = sqliteStore(path);
  await store.open({ id: owner, handlers: [aHandler] });
  for (let n = 0; n < 3; n++) await failNow(store, `a${n}`, "The gateway is away");
  for (let n = 0; n < 5; n++) await failNow(store, `b${n}`, "The card has expired");
  const database = new DatabaseSync(path);
  database.exec("UPDATE task SET parent = '{' WHERE id IN ('task-a0', 'task-b4')");
  database.close();
  const found = await incidentsIn(store, noon, { tool: undefined, limit: 9, newest: 3 });
  expect(new Set(found.map(({ open }) => open))).toEqual(new Set([2, 4]));
  await store.close();
});

it("what an operator says of a cause is shown with it, and is an action", async () => {
  const process = await Process.started({ tools: { charge } });
  const admin = adminOf(process);
  await fail(process, "card", ["a"]);
  process.clock.jump(1_000);
  await fail(process, "gateway", ["a"]);
  const cause = (await admin.incidents())[0]?.cause ?? "";
  const ann = admin.as("ann");
  expect(await ann.mark(cause, { mute: true, note: "Their status page says so" })).toMatchObject({
    muted: true,
    actor: "ann",
  });
  expect(await short(admin)).toEqual([
    [card, 1, 1, 1, false, null],
    [gateway, 1, 1, 1, true, "Their status page says so"],
  ]);
  expect(await admin.as("bob").mark(cause, { note: " " })).toMatchObject({ muted: true, note: null });
  expect(await ann.mark(cause, { unmute: true })).toMatchObject({ muted: false, note: null });
  expect((await short(admin))[0]).toEqual([gateway, 1, 1, 1, false, null]);
  expect((await admin.actions()).map(({ action, actor, detail }) => [action, actor, detail])).toEqual([
    ["mark", "ann", { cause, muted: false }],
    ["mark", "bob", { cause, muted: true }],
    ["mark", "ann", { cause, muted: true }],
  ]);
  await expect(ann.mark("charge")).rejects.toMatchObject({ code: "invalid_params" });
  await expect(ann.mark(cause, { mute: true, unmute: true })).rejects.toMatchObject({
    code: "invalid_params",
  });
  await process.runtime.stop();
});

it("what failed below a task has a cause of its own, and is run again by the task at the top", async () => {
  const outer: Handler = async (_args, task) => {
    await task.call("charge", "charge", { order: id(7), cause: "card" });
    return text("done");
  };
  const process = await Process.started({ tools: { charge, outer } });
  const admin = adminOf(process);
  const top = await process.callId("outer");
  await process.ended(top);
  const incidents = await admin.incidents();
  expect(
    incidents.map(({ tool, open }) => [tool, open]).sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
  ).toEqual([
    ["charge", 1],
    ["outer", 1],
  ]);
  const cause = incidents.find(({ tool }) => tool === "charge")?.cause ?? "";
  const { done } = await admin.as("ann").bulk("retry", { cause });
  expect(done).toEqual([top]);
  expect(
    (await admin.bulkJob((await admin.as("ann").bulk("retry", { cause }, { dryRun: true })).job)).done,
  ).not.toContain(top);
  await process.runtime.stop();
});

it("a step that failed has the same cause if its process dies before the task has ended", async () => {
  const process = await Process.started({ tools: { charge } });
  const [first = ""] = await fail(process, "gateway", ["a"]);
  const cause = (await process.store.get(first))?.cause;
  expect(cause).toMatch(/^c/);
  const seen: unknown[] = [];
  // The step has failed, and the handler goes on: its process dies there.
  const crashing: Handler = async (args, task) => {
    try {
      return await charge(args, task);
    } catch (error) {
      seen.push(error);
      if (seen.length === 1) await new Promise(() => undefined);
      throw error;
    }
  };
  const dying = await Process.started({ tools: { charge: crashing } });
  const task = await dying.callId("charge", { arguments: { order: id(3), cause: "gateway" } });
  await expect.poll(() => seen.length).toBe(1);
  const next = await dying.crash({ tools: { charge: crashing } });
  await next.ended(task);
  expect((await next.store.get(task))?.cause).toBe(cause);
  await next.runtime.stop();
  await process.runtime.stop();
});
