import { expect, it } from "vitest";
import { UsageReads } from "../../src/admin/usage.ts";
import { Process, text, type Handler } from "../runtime/harness.ts";
import { adminOf } from "./operator.ts";

it("says whose tasks failed, whose took the time, and which steps of a tool were slow", async () => {
  let jump = (_: number): void => undefined;
  const work: Handler = async (args, task) => {
    const { ms, fails } = args as { ms: number; fails?: boolean };
    for (const page of [1, 2]) await task.step(["read", page], () => jump(ms / 2));
    await task.step("write", () => jump(1));
    if (fails) throw new Error("no disk");
    return text("done");
  };
  const process = await Process.started({ tools: { work } });
  jump = (ms) => process.clock.jump(ms);
  const admin = adminOf(process);
  const run = async (principal: string | null, args: object): Promise<string> => {
    const id = await process.callId("work", { principal, arguments: args });
    await expect.poll(async () => (await process.store.get(id))?.state).toBe("settled");
    return id;
  };
  expect(await admin.callers()).toMatchObject({ tasks: 0, callers: [] });
  expect(await admin.latency("work")).toEqual({ tasks: 0, from: null, steps: [] });
  await run("old", { ms: 10, fails: true });
  process.clock.jump(120 * 60_000);
  for (let n = 0; n < 3; n++) await run("ada", { ms: 20, fails: n < 2 });
  const slow = await run("bob", { ms: 4_000 });
  await run(null, { ms: 20, fails: true });

  const byFailures = await admin.callers();
  expect(byFailures).toMatchObject({ tasks: 5, from: process.clock.now() - 60 * 60_000 });
  expect(byFailures.callers).toMatchObject([
    { principal: "ada", tasks: 3, failed: 2 },
    { principal: null, tasks: 1, failed: 1 },
    { principal: "bob", tasks: 1, failed: 0 },
  ]);
  const { callers } = await admin.callers({ by: "time", limit: 2, minutes: 300 });
  expect(callers.map(({ principal }) => principal)).toEqual(["bob", "ada"]);
  expect(callers[0]?.workedMs).toBeGreaterThanOrEqual(4_001);

  const { tasks, steps } = await admin.latency("work");
  expect(tasks).toBe(6);
  expect(steps).toMatchObject([
    { name: "read", kind: "step", count: 12, p50Ms: 10, p95Ms: 2_000, maxMs: 2_000, taskId: slow },
    { name: "write", kind: "step", count: 6, p50Ms: 1, p95Ms: 1, maxMs: 1 },
  ]);
  // Of the newest tasks alone.
  expect((await admin.latency("work", { tasks: 1 })).steps[0]).toMatchObject({ count: 2, maxMs: 10 });
  await process.runtime.stop();
});

it("reads thousands of tasks once for all who look, and again for the next if that was quick, or failed", async () => {
  let [reads, elapsed, takes, fails] = [0, 0, 0, false];
  const { store, runtime } = await Process.started({ tools: {} });
  const { admin } = store;
  if (admin === undefined) throw new Error("The store has no part for operators.");
  const tasks = admin.tasks.bind(admin);
  Object.assign(admin, {
    tasks: async (...range: Parameters<typeof tasks>) => {
      reads++;
      elapsed += takes;
      if (fails) throw new Error("away");
      return tasks(...range);
    },
  });
  const usage = new UsageReads(store, () => elapsed);
  await Promise.all([usage.callers({}), usage.callers({}), usage.callers({ by: "time" })]);
  expect(reads).toBe(2);
  fails = true;
  await expect(usage.callers({})).rejects.toThrow("away");
  fails = false;
  takes = 100;
  await usage.callers({});
  elapsed += 1_999;
  await usage.callers({});
  expect(reads).toBe(4);
  elapsed += 1;
  await usage.callers({});
  expect(reads).toBe(5);
  elapsed -= 60_000; // the clock is set back
  await usage.callers({});
  expect(reads).toBe(6);
  await runtime.stop();
});

it("reads failures once for all who look at incidents, and again soon, or once an operator has changed something", async () => {
  let [reads, elapsed] = [0, 0];
  const { store, runtime } = await Process.started({ tools: {} });
  const causes = store.admin?.causes ?? expect.unreachable();
  Object.assign(causes, {
    failed: () => {
      reads++;
      elapsed += 1_000; // of tens of thousands
      return Promise.resolve([]);
    },
  });
  const usage = new UsageReads(store, () => elapsed);
  await Promise.all([usage.incidents({}), usage.incidents({}), usage.incidents({ limit: 100 })]);
  elapsed += 1_999;
  await usage.incidents({});
  expect(reads).toBe(1);
  elapsed += 1;
  await usage.incidents({});
  expect(reads).toBe(2);
  usage.forget();
  await usage.incidents({});
  expect(reads).toBe(3);
  await usage.incidents({ tool: "undefined" }); // another question, whatever the tool is called
  expect(reads).toBe(4);
  await runtime.stop();
});
