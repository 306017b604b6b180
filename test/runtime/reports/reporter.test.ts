import { expect, it, onTestFinished } from "vitest";
import type { Activity } from "../../../src/admin/activity.ts";
import { createAdmin } from "../../../src/admin/create-admin.ts";
import type { Admin } from "../../../src/admin/operations.ts";
import { createRuntime } from "../../../src/runtime/create-runtime.ts";
import { ProcessCounts } from "../../../src/runtime/reports/process-counts.ts";
import type { Runtime } from "../../../src/runtime/runtime.ts";
import { Registry } from "../../../src/runtime/tool/registry.ts";
import type { NodeReports } from "../../../src/store/admin-store.ts";
import { type MemoryDatabase, memoryDatabase, memoryStore } from "../../../src/store/sqlite/memory-store.ts";
import type { TaskStore } from "../../../src/store/store.ts";
import { FakeClock, rest } from "../../../src/testing/clocks.ts";

const minute = 60_000;

interface Reporting {
  readonly clock: FakeClock;
  readonly runtime: Runtime;
  readonly counts: ProcessCounts;
  readonly admin: Admin;
  readonly errors: unknown[];
  readonly end: (tool: string) => Promise<void>;
}

/** A process on the database whose handlers end when they are told to, or fail. */
async function reporting(
  database: MemoryDatabase,
  { clock = new FakeClock(), reports = (own: NodeReports): NodeReports | undefined => own } = {},
): Promise<Reporting> {
  const real = memoryStore(database);
  const own = real.reports && reports(real.reports);
  const store: TaskStore = new Proxy(real, {
    get(target, name: keyof TaskStore) {
      const member = name === "reports" ? own : target[name];
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  const registry = new Registry();
  registry.add("ok", {}, () => ({ content: [] }));
  registry.add("fails", {}, () => {
    throw new Error("no");
  });
  registry.add("retries", { retry: { attempts: 2 } }, () => {
    throw new Error("no");
  });
  registry.add("waits", {}, async (_args, task) => {
    await task.sleep("for ever", 3_600_000);
    return { content: [] };
  });
  const stuck = Promise.withResolvers<void>();
  let tries = 0;
  registry.add("sticks", {}, async (_args, task) => {
    await task.step("log in", () => "in");
    const again = { retries: 1, backoff: { firstMs: 1_000, factor: 1 } };
    const fetched = task.step("fetch page", again, async () => {
      if (tries++ === 0) throw new Error("503");
      await stuck.promise;
    });
    const file = task.artifact("report.csv", () => stuck.promise.then(() => "x"));
    await Promise.all([fetched, task.step("beside", () => stuck.promise), file]);
    return { content: [] };
  });
  const errors: unknown[] = [];
  const counts = new ProcessCounts(clock);
  const runtime = createRuntime({ store, registry, clock, counts, onError: (error) => errors.push(error) });
  await runtime.start();
  onTestFinished(() => {
    stuck.resolve();
    return runtime.stop();
  });
  const now = (): number => clock.now();
  const admin = createAdmin({
    store,
    now,
    after: (ms, run) => clock.after(ms, run),
    every: (ms, run) => clock.every(ms, run),
    randomBytes: (size) => clock.randomBytes(size),
    maxBodyBytes: 1_000_000,
    onChange: () => undefined,
  });
  const end = async (tool: string): Promise<void> => {
    const call = {
      generation: "2026-07-28",
      tool,
      arguments: {},
      principal: null,
      origin: { capabilities: {} },
    };
    await runtime.create(call as Parameters<Runtime["create"]>[0]);
    await rest();
  };
  return { clock, runtime, counts, admin, errors, end };
}

const toolsOf = ({ tools }: Activity): unknown =>
  Object.fromEntries(
    tools.map(({ tool, created, completed, failed, cancelled, retried }) => [
      tool,
      [created, completed, failed, cancelled, retried],
    ]),
  );

it("says what happened to tasks, a second after the start and every ten seconds", async () => {
  const { clock, admin, end } = await reporting(memoryDatabase());
  await end("ok");
  await end("fails");
  expect((await admin.activity()).tools).toEqual([]);
  await clock.advance(1_000);
  expect(toolsOf(await admin.activity())).toEqual({ ok: [1, 1, 0, 0, 0], fails: [1, 0, 1, 0, 0] });
  await end("retries");
  await end("waits");
  await clock.advance(9_000);
  const activity = await admin.activity({ minutes: 2 });
  expect(toolsOf(activity)).toMatchObject({ retries: [1, 0, 1, 0, 1], waits: [1, 0, 0, 0, 0] });
  expect(activity).toMatchObject({
    minutes: 2,
    from: Math.floor(clock.now() / minute) * minute - minute,
    created: [0, 4],
    completed: [0, 1],
    failed: [0, 2],
    cancelled: [0, 0],
  });
  expect(activity.tools.find(({ tool }) => tool === "ok")).toMatchObject({
    ended: [0, 1],
    p50Ms: 0,
    p95Ms: 0,
  });
  expect(activity.tools.find(({ tool }) => tool === "waits")).toMatchObject({ p50Ms: null, p95Ms: null });
});

it("keeps each minute whole, also what came after its last report", async () => {
  const { clock, admin, end, counts } = await reporting(memoryDatabase());
  await clock.advance(minute - 5_000 - (clock.now() % minute));
  await end("ok");
  await clock.advance(6_000);
  await end("ok");
  counts.count({ type: "request.refused", code: "not_found", method: "tasks/get", principal: null, at: 0 });
  await clock.advance(10_000);
  const { completed, refusals } = await admin.activity({ minutes: 3 });
  expect(completed).toEqual([0, 1, 1]);
  expect(refusals).toEqual([{ code: "not_found", method: "tasks/get", count: 1, byMinute: [0, 0, 1] }]);
});

it("reports a last time as it stops, and is shown for ten minutes", async () => {
  const database = memoryDatabase();
  const [first, second] = [await reporting(database), await reporting(database)];
  await second.end("ok");
  await second.runtime.stop();
  await first.clock.advance(1_000);
  expect(toolsOf(await first.admin.activity())).toEqual({ ok: [1, 1, 0, 0, 0] });
  const nodes = await first.admin.nodes();
  expect(nodes).toMatchObject([
    { alive: true, pid: process.pid, roles: ["serve", "work"], running: 0, parked: 0, leaked: 0 },
    { alive: false, slots: { used: 0 }, memoryBytes: expect.any(Number) as number },
  ]);
  expect(nodes[0]?.slots?.limit).toBeGreaterThan(0);
  expect(nodes[0]?.version).toMatch(/^\d+\.\d+\.\d+/);
  await first.clock.advance(10 * minute);
  expect(await first.admin.nodes()).toHaveLength(1);
});

it("says which handlers hold tasks, and wait", async () => {
  const { clock, admin, end } = await reporting(memoryDatabase());
  await end("waits");
  await clock.advance(1_000);
  expect(await admin.nodes()).toMatchObject([{ running: 0, parked: 1, slots: { used: 0 } }]);
});

it("lists an owner that has reported nothing", async () => {
  const database = memoryDatabase();
  const { admin } = await reporting(database);
  const tool = memoryStore(database);
  await tool.open({ id: "cli", handlers: [] });
  onTestFinished(() => tool.close());
  expect((await admin.nodes()).find(({ id }) => id === "cli")).toEqual({
    id: "cli",
    alive: true,
    draining: null,
    host: null,
    pid: null,
    version: null,
    startedAt: null,
    reportedAt: null,
    roles: [],
    slots: null,
    running: 0,
    parked: null,
    leaked: null,
    loopDelay: null,
    memoryBytes: null,
  });
});

it("forgets nothing while the store takes no reports, and says so once", async () => {
  let fails = true;
  const { clock, admin, end, errors } = await reporting(memoryDatabase(), {
    reports: (own) => ({
      ...own,
      write: async (...report) => {
        if (fails) throw new Error("disk full");
        await own.write(...report);
      },
    }),
  });
  await end("ok");
  await clock.advance(minute + 1_000);
  await end("ok");
  await clock.advance(minute);
  expect(errors).toEqual([new Error("disk full")]);
  fails = false;
  await clock.advance(10_000);
  const { completed } = await admin.activity({ minutes: 5 });
  expect(completed.reduce((sum, count) => sum + count, 0)).toBe(2);
  fails = true;
  await clock.advance(20_000);
  expect(errors).toHaveLength(2);
});

it("waits for no store that does not answer", async () => {
  const never = new Promise<never>(() => undefined);
  const { clock, end, runtime } = await reporting(memoryDatabase(), {
    reports: (own) => ({ ...own, write: () => never }),
  });
  await clock.advance(30_000);
  await end("ok");
  // However long it would wait for its tasks.
  const stopping = runtime.stop(600_000);
  await clock.advance(1_000);
  await stopping;
});

it("writes no further minute to a store that a late stop has closed", async () => {
  let last = Promise.withResolvers<void>();
  last.resolve();
  const { clock, end, runtime, errors } = await reporting(memoryDatabase(), {
    reports: (own) => ({
      ...own,
      write: async (...report) => {
        await own.write(...report);
        await last.promise;
      },
    }),
  });
  await clock.advance(minute - (clock.now() % minute) - 1);
  await end("ok");
  await clock.advance(1);
  await end("ok");
  last = Promise.withResolvers();
  const stopping = runtime.stop(100);
  await clock.advance(100);
  await stopping;
  last.resolve();
  await rest();
  expect(errors).toEqual([]);
});

it("leaves out reports that are damaged, or that another version wrote", async () => {
  const database = memoryDatabase();
  const { clock, admin, end } = await reporting(database);
  const other = memoryStore(database);
  await other.open({ id: "other", handlers: [] });
  onTestFinished(() => other.close());
  await end("ok");
  await clock.advance(1_000);
  for (const body of [
    "",
    "null",
    "{",
    "[]",
    '{"form":1}',
    '{"form":1,"tools":[]}',
    '{"form":99,"tools":[{}]}',
  ]) {
    await other.reports?.write({ minute: Math.floor(clock.now() / minute), body }, 0);
    expect((await admin.activity()).tools).toMatchObject([{ tool: "ok", completed: 1 }]);
    expect((await admin.nodes()).find(({ id }) => id === "other")).toMatchObject({ alive: true, host: null });
  }
});

it("shows nothing where the store keeps nothing", async () => {
  const { clock, admin, end, errors } = await reporting(memoryDatabase(), { reports: () => undefined });
  await end("ok");
  await clock.advance(minute);
  expect(await admin.nodes()).toEqual([]);
  expect(await admin.activity({ minutes: 1 })).toMatchObject({ created: [0], tools: [], refusals: [] });
  expect(errors).toEqual([]);
});

it.each([0, 361, 1.5, NaN])("refuses %d minutes", async (minutes) => {
  const { admin } = await reporting(memoryDatabase());
  await expect(admin.activity({ minutes })).rejects.toMatchObject({ code: "invalid_params" });
});

it("names the steps that run and the files that are stored, within fifteen seconds and as long as they do", async () => {
  const { clock, admin, end } = await reporting(memoryDatabase());
  const begun = clock.now();
  await end("sticks");
  const [task] = (await admin.list()).tasks;
  const timeline = async (): Promise<unknown> =>
    (await admin.show(task?.id ?? "")).timeline.map(({ key, kind, begunAt, doneAt, tries, until }) => [
      key,
      kind,
      (begunAt ?? 0) >= begun,
      doneAt === null,
      tries,
      until === null,
    ]);
  await clock.advance(10_000);
  expect(await timeline()).toEqual([
    ["log in", "step", true, false, 0, true],
    ["fetch page", "step", true, true, 1, true],
    ["report.csv", "artifact", true, true, 0, true],
    ["beside", "step", true, true, 0, true],
  ]);
  const { timelineSummary, timelineIsCut, state } = await admin.show(task?.id ?? "");
  expect({ state, timelineIsCut, ...timelineSummary }).toMatchObject({
    state: "running",
    timelineIsCut: false,
    entries: 4,
    open: 3,
  });
  const page = await admin.timeline(task?.id ?? "", { limit: 2 });
  expect(page.entries.map(({ key }) => key)).toEqual(["log in", "fetch page", "report.csv", "beside"]);
  await admin.as("ann").cancel(task?.id ?? "");
  expect((await admin.show(task?.id ?? "")).timeline.map(({ key }) => key)).toEqual(["log in", "fetch page"]);
});
