import { StartedProcesses } from "../../src/runtime/exec/started-processes.ts";
import { describe, expect, it } from "vitest";
import { EventUrls } from "../../src/runtime/event-urls.ts";
import { errorReporter } from "../../src/runtime/error-reporter.ts";
import type { HeldTask } from "../../src/runtime/journal/held-task.ts";
import { Run } from "../../src/runtime/journal/run.ts";
import { TaskLines } from "../../src/runtime/journal/task-lines.ts";
import { defaultSettings } from "../../src/runtime/options.ts";
import type { Services } from "../../src/runtime/services.ts";
import { Commits, UnreadableTasks } from "../../src/runtime/observed-store.ts";
import { Lease } from "../../src/runtime/dispatch/lease.ts";
import { ownContext } from "../../src/runtime/own-context.ts";
import { Registry } from "../../src/runtime/tool/registry.ts";
import { ThreadPool } from "../../src/runtime/threads/thread-pool.ts";
import { noWaits } from "../../src/runtime/limits/limits.ts";
import { memoryStore } from "../../src/store/sqlite/memory-store.ts";
import type { TaskRecord } from "../../src/task/record.ts";
import { createRunning } from "../contract/sample-task.ts";
import { StoreClock } from "../../src/runtime/clock.ts";
import { FakeClock, rest } from "../../src/testing/clocks.ts";

const names = {
  taskId: "task-a",
  stepKeys: "task-a",
  wireId: "task-a",
  attempt: 1,
  versions: { task: 1, code: 1 },
  limits: defaultSettings,
  maxBodyBytes: 1_000,
  inOwnContext: ownContext(),
  runsAgain: false,
  lines: new TaskLines({ limits: defaultSettings }),
};

async function services(): Promise<Services> {
  const store = memoryStore();
  await store.open({ id: "test", handlers: [] });
  const onError = errorReporter(undefined);
  const unreadable = new UnreadableTasks(onError);
  return {
    store,
    registry: new Registry(),
    options: defaultSettings,
    clock: new StoreClock(new FakeClock()),
    commits: new Commits(new FakeClock()),
    lease: new Lease(store),
    inOwnContext: ownContext(),
    onError,
    processes: new StartedProcesses({ folder: "unused", store, clock: new FakeClock(), onError }),
    threads: new ThreadPool({ onError }),
    unreadable,
    limits: noWaits,
    eventUrls: new EventUrls(undefined),
    webhooks: [],
  };
}

describe("a run without a task", () => {
  it("keeps its keys apart, and journals nothing", async () => {
    const run = new Run(names);
    expect(run.claim(["s", 1])).toBe('["s",1]');
    expect(() => run.claim(["s", 1])).toThrow(expect.objectContaining({ code: "duplicate_key" }));
    await run.begin();
    expect(await run.working(async () => "worked")).toBe("worked");
    await run.recordStep({ key: "s", value: "1", error: null, begunAt: 5 });
    expect([run.find("s", { kind: "step" }), run.life.state]).toEqual([undefined, "direct"]);
  });

  it("begins nothing after its handler has returned, or its caller has left", async () => {
    const ended = new Run(names);
    ended.end(false);
    await expect(ended.begin()).rejects.toMatchObject({
      code: "fenced",
      message: "The handler of this task has returned. Await in it what it starts: the rest is lost.",
    });
    expect([ended.life.state, ended.signal.aborted]).toEqual(["ended", false]);
    const left = new Run(names);
    left.life.fence(new Error("gone"));
    await expect(left.begin()).rejects.toThrow("gone");
    left.end(true);
    expect(left.life.state).toBe("fenced");
  });
});

function hold(run: Run, all: Services, task: TaskRecord): HeldTask {
  return run.hold({
    services: all,
    task,
    entries: [],
    parks: true,
    tell: ignore,
  });
}

const ignore = (): void => undefined;

describe("a run whose task is made later", () => {
  it("makes it before the first call that is journalled, and writes to it from there on", async () => {
    const all = await services();
    const made = await all.store.write(createRunning("a"));
    if (!made.ok) throw new Error(made.reason);
    const run: Run = new Run({ ...names, promote: async () => hold(run, all, made.task) });
    await run.begin();
    await run.recordStep({ key: "s", value: "1", error: null, begunAt: 5 });
    expect(run.life.state).toBe("running");
    expect(await all.store.journalEntry("task-a", "s")).toMatchObject({ value: "1", begunAt: 5 });
  });

  it("gives it back where it was given up meanwhile", async () => {
    const all = await services();
    const made = await all.store.write(createRunning("a"));
    if (!made.ok) throw new Error(made.reason);
    const run = new Run(names);
    run.life.fence(new Error("The server stops."));
    expect(() => hold(run, all, made.task)).toThrow(expect.objectContaining({ code: "fenced" }));
    await rest();
    expect(await all.store.get("task-a")).toMatchObject({ state: "queued", token: null });
  });
});
