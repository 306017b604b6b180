import { expect, it } from "vitest";
import { createAdmin } from "../../src/admin/create-admin.ts";
import { BulkRunner } from "../../src/admin/bulk-runner.ts";
import type { TaskStore } from "../../src/store/store.ts";
import { Process, text, type Handler } from "../runtime/harness.ts";
import { storeFailed, watchedStore } from "../runtime/watched-store.ts";
import { adminOf, servicesOf } from "./operator.ts";

const waits: Handler = async (_args, task) => text(String(await task.waitForEvent("go", "go")));

async function withTasks(
  count: number,
): Promise<{ readonly process: Process; readonly ids: readonly string[] }> {
  const process = await Process.started({ tools: { waits } });
  const ids: string[] = [];
  for (let n = 0; n < count; n++) {
    ids.push(await process.callId("waits"));
    process.clock.jump(1);
  }
  for (const id of ids) await process.journalHas(id, "go");
  return { process, ids: ids.toReversed() };
}

/** Holds whoever waits at it. */
class Gate {
  readonly #reached = Promise.withResolvers<void>();
  readonly #opened = Promise.withResolvers<void>();
  readonly reached = this.#reached.promise;

  wait(): Promise<void> {
    this.#reached.resolve();
    return this.#opened.promise;
  }

  release(): void {
    this.#opened.resolve();
  }
}

const waiting = { tool: "waits" };

it("acts on the tasks that were shown, and not on those that came later", async () => {
  const { process, ids } = await withTasks(3);
  const admin = adminOf(process);
  const ann = admin.as("ann");
  const preview = await ann.bulk("cancel", waiting, { dryRun: true });
  expect(preview).toEqual({ job: preview.job, done: ids, created: [], refused: [] });
  expect(await admin.bulkJob(preview.job)).toMatchObject({ state: "previewed", startedAt: null });
  expect(await admin.actions()).toEqual([]);
  const later = await process.callId("waits");
  await ann.cancel(ids[0] ?? "");
  const refused = [{ id: ids[0], code: "finished", message: expect.any(String) as string }];
  const job = { job: preview.job };
  expect(await ann.bulk("cancel", waiting, job)).toEqual({
    ...job,
    done: ids.slice(1),
    created: [],
    refused,
  });
  expect((await process.get(later)).task.finishedAt).toBeNull();
  expect(await ann.bulk("cancel", waiting, job)).toMatchObject({ done: ids.slice(1) });
});

it("refuses a job for another action or selection than it was made for, and one that is not there", async () => {
  const { process } = await withTasks(1);
  const ann = adminOf(process).as("ann");
  const { job } = await ann.bulk("cancel", waiting, { dryRun: true });
  await expect(ann.bulk("delete", waiting, { job })).rejects.toMatchObject({ code: "invalid_params" });
  await expect(ann.bulk("cancel", {}, { job })).rejects.toMatchObject({ code: "invalid_params" });
  for (const gone of [() => ann.bulk("cancel", waiting, { job: "none" }), () => ann.cancelBulk("none")])
    await expect(gone()).rejects.toMatchObject({
      code: "unknown_task",
      message: "There is no bulk job none.",
    });
  await expect(ann.cancelBulk(job)).rejects.toMatchObject({ code: "finished" });
});

it("is the same job for the same action and selection while it is not done, and one audit row", async () => {
  const { process, ids } = await withTasks(3);
  const admin = adminOf(process);
  const [first, second] = await Promise.all([
    admin.as("ann").bulk("cancel", waiting),
    admin.as("bob").bulk("cancel", waiting),
  ]);
  expect(second).toEqual(first);
  expect(first.done).toEqual(ids);
  expect(await admin.actions()).toMatchObject([
    {
      actor: "ann",
      action: "cancel",
      taskId: null,
      detail: { job: first.job, selection: waiting, state: "done", total: 3, done: 3, refused: 0, open: 0 },
    },
  ]);
  expect(await admin.actions({ taskId: ids[0] ?? "" })).toMatchObject([
    { actor: "ann", action: "cancel", taskId: ids[0], detail: { job: first.job } },
  ]);
  const next = await admin.as("ann").bulk("cancel", waiting);
  expect([next.job === first.job, next.done]).toEqual([false, []]);
});

it("answers after ten seconds with what was done by then, and goes on", async () => {
  const { process, ids } = await withTasks(150);
  const { store } = process;
  const held = new Gate();
  let cancels = 0;
  const slow = watchedStore(store, (call) =>
    call === "cancel" && ++cancels === 120 ? held.wait() : undefined,
  );
  const admin = createAdmin({ ...servicesOf(process), store: { ...slow, admin: store.admin } as TaskStore });
  const answer = admin.as("ann").bulk("cancel", waiting);
  await held.reached;
  await process.clock.advance(10_000);
  const { job, done } = await answer;
  expect(done.length).toBeGreaterThanOrEqual(100);
  expect(await admin.bulkJob(job)).toMatchObject({ state: "running" });
  held.release();
  await expect
    .poll(async () => (await admin.bulkJob(job)).counts)
    .toEqual({ total: 150, open: 0, done: 150, refused: 0 });
  expect((await admin.bulkJob(job)).done).toEqual(ids);
});

it("goes on in another process where the one that worked on it is gone, or its store failed", async () => {
  const { process, ids } = await withTasks(120);
  const { store, clock } = process;
  let cancels = 0;
  const failing = watchedStore(store, (call) => {
    if (call === "cancel" && ++cancels > 100) throw storeFailed();
  });
  const services = servicesOf(process);
  const first = createAdmin({ ...services, store: { ...failing, admin: store.admin } as TaskStore });
  await expect(first.as("ann").bulk("cancel", waiting)).rejects.toMatchObject({ code: "store_failed" });
  const admin = adminOf(process);
  const [{ detail } = { detail: undefined }] = await admin.actions();
  expect(detail).toMatchObject({ state: "running", done: 100, open: 20 });
  const { job } = detail as { readonly job: string };
  const runner = new BulkRunner(services);
  runner.start();
  while ((await admin.bulkJob(job)).endedAt === null) await clock.advance(1_000);
  await runner.stop();
  expect(await admin.bulkJob(job)).toMatchObject({ state: "done", done: ids, refused: [] });
});

it("goes on in time where the one that worked on it is gone, and the clock was set back since", async () => {
  const { process, ids } = await withTasks(3);
  const { store, clock } = process;
  const { job } = await adminOf(process).as("ann").bulk("cancel", waiting, { dryRun: true });
  await store.write({ type: "start_bulk", now: clock.now(), id: job });
  const later = clock.now() + 3_600_000;
  await store.write({ type: "hold_bulk", now: later, id: job, until: later + 10_000 });
  const next = await process.crash({ tools: { waits } });
  const runner = new BulkRunner(servicesOf(next));
  runner.start();
  for (let seconds = 0; seconds < 10; seconds++) await next.clock.advance(1_000);
  await runner.stop();
  expect(await adminOf(next).bulkJob(job)).toMatchObject({ state: "done", done: ids, refused: [] });
});

it("tries tasks again for which the store failed, and refuses those for which it fails for good", async () => {
  const { process, ids } = await withTasks(120);
  const { store, clock } = process;
  const tries = new Map<string | undefined, number>();
  const failing = watchedStore(store, (call, id) => {
    if (call !== "cancel") return;
    const times = (tries.get(id) ?? 0) + 1;
    tries.set(id, times);
    if (id === ids[0] || (times === 1 && ids.indexOf(id ?? "") < 10)) throw storeFailed();
  });
  const services = {
    ...servicesOf(process),
    store: { ...failing, admin: store.admin } as TaskStore,
  };
  const { job } = await createAdmin(services).as("ann").bulk("cancel", waiting, { dryRun: true });
  await store.write({ type: "start_bulk", now: clock.now(), id: job });
  const runner = new BulkRunner(services);
  runner.start();
  const admin = adminOf(process);
  while ((await admin.bulkJob(job)).endedAt === null) await clock.advance(1_000);
  await runner.stop();
  expect(await admin.bulkJob(job)).toMatchObject({
    counts: { total: 120, open: 0, done: 119, refused: 1 },
    refused: [{ id: ids[0], code: "store_failed" }],
  });
  expect([tries.get(ids[0]), tries.get(ids[9]), tries.get(ids[10])]).toEqual([10, 2, 1]);
});

it("leaves the rest alone once an operator stops it", async () => {
  const { process } = await withTasks(150);
  const { store } = process;
  const held = new Gate();
  let cancels = 0;
  const slow = watchedStore(store, (call) =>
    call === "cancel" && ++cancels === 50 ? held.wait() : undefined,
  );
  const admin = createAdmin({ ...servicesOf(process), store: { ...slow, admin: store.admin } as TaskStore });
  const answer = admin.as("ann").bulk("cancel", waiting);
  await held.reached;
  const [{ detail } = { detail: undefined }] = await admin.actions();
  const { job } = detail as { readonly job: string };
  expect(await admin.as("bob").cancelBulk(job)).toMatchObject({ state: "cancelled", cancelledBy: "bob" });
  held.release();
  await answer;
  expect((await admin.bulkJob(job)).counts).toEqual({ total: 150, open: 50, done: 100, refused: 0 });
  expect(await admin.actions()).toMatchObject([
    { actor: "ann", detail: { state: "cancelled", cancelledBy: "bob" } },
  ]);
  await expect(admin.as("bob").cancelBulk(job)).rejects.toMatchObject({ code: "finished" });
});

it("runs each task again once where two processes work on the same job", async () => {
  const runs: string[] = [];
  const process = await Process.started({
    tools: {
      fails: (_args, task) => {
        runs.push(task.id);
        throw new Error("no");
      },
    },
  });
  const ids: string[] = [];
  for (let n = 0; n < 30; n++) ids.push(await process.callId("fails"));
  for (const id of ids) await process.ended(id);
  const admin = adminOf(process);
  const { job } = await admin.as("ann").bulk("retry", { tool: "fails" }, { dryRun: true, fromStart: true });
  await process.store.write({ type: "start_bulk", now: process.clock.now(), id: job });
  const services = servicesOf(process);
  await Promise.all([new BulkRunner(services), new BulkRunner(services)].map((runner) => runner.run(job)));
  const { counts, created } = await admin.bulkJob(job);
  expect(counts).toMatchObject({ total: 30, done: 30 });
  for (const id of created) await process.ended(id);
  expect(runs).toHaveLength(60);
});
