import { describe, expect, it } from "vitest";
import type { TaskContext } from "../../src/runtime/tool/task-context.ts";
import { nobody, Process, text, type Handler } from "./harness.ts";

const config = { onCrash: "resume" as const };

/** Makes these reports, each a second after the one before, and then waits for long. */
function reporter(reports: readonly Parameters<Parameters<Handler>[1]["progress"]>[]): Handler {
  return async (_, task) => {
    for (const [index, report] of reports.entries()) {
      task.progress(...report);
      await task.sleep(["pause", task.attempt, index], 1_000);
    }
    await task.sleep("long", 3_600_000);
    return text("done");
  };
}

async function progressAfter(process: Process, id: string, ms: number): Promise<unknown> {
  await process.clock.advance(ms);
  return (await process.get(id)).task.progress;
}

describe("progress", () => {
  it("does not go back, whatever a handler reports later", async () => {
    const tool = reporter([[2, 4, "half"], [1, 4, "back"], [2, 5, "still"], [3]]);
    const process = await Process.started({ tools: { tool } });
    const id = await process.callId("tool");
    expect(await progressAfter(process, id, 500)).toEqual({ progress: 2, total: 4, message: "half" });
    const { version } = (await process.get(id)).task;
    expect(await progressAfter(process, id, 1_000)).toEqual({ progress: 2, total: 4, message: "half" });
    // One change for the sleep that has ended, one for the next sleep, and none for the report.
    expect((await process.get(id)).task.version).toBe(version + 2);
    expect(await progressAfter(process, id, 1_000)).toEqual({ progress: 2, total: 5, message: "still" });
    expect(await progressAfter(process, id, 1_000)).toEqual({ progress: 3 });
  });

  it("keeps the furthest of reports that come faster than they are written [B-138]", async () => {
    const tool: Handler = async (_, task) => {
      for (const n of [1, 9, 4]) task.progress(n);
      await task.sleep("long", 3_600_000);
      return text("done");
    };
    const process = await Process.started({ tools: { tool } });
    const id = await process.callId("tool");
    expect(await progressAfter(process, id, 1_000)).toEqual({ progress: 9 });
  });

  it.each([
    ["returns", async () => text("done")],
    ["throws", async () => Promise.reject(new Error("no"))],
    [
      "asks",
      (task: TaskContext) =>
        task.elicit("q", { message: "?", requestedSchema: { type: "object", properties: {} } }),
    ],
  ] as const)("is stored as far as it was reported when the handler %s", async (_, then) => {
    const tool: Handler = async (_args, task) => {
      for (const n of [1, 2, 3]) task.progress(n);
      await then(task);
      return text("done");
    };
    const process = await Process.started({ tools: { tool } });
    const id = await process.callId("tool");
    expect(await progressAfter(process, id, 0)).toEqual({ progress: 3 });
  });

  it("stays where it was while an attempt after a crash catches up", async () => {
    const first = await Process.started({ tools: { tool: { config, handler: reporter([[5], [6]]) } } });
    const id = await first.callId("tool");
    expect(await progressAfter(first, id, 1_500)).toEqual({ progress: 6 });
    const second = await first.crash({ tools: { tool: { config, handler: reporter([[5], [7]]) } } });
    expect(await progressAfter(second, id, 500)).toEqual({ progress: 6 });
    expect(await progressAfter(second, id, 1_000)).toEqual({ progress: 7 });
  });

  it("is written that comes as the pause after the last one ends, however many turns later", async () => {
    const begun = Promise.withResolvers<TaskContext>();
    const tool: Handler = async (_, task) => {
      begun.resolve(task);
      await task.sleep("long", 3_600_000);
      return text("done");
    };
    const process = await Process.started({ tools: { tool } });
    const { clock } = process;
    let onTimer = (): void => undefined;
    const after = clock.after.bind(clock);
    clock.after = (ms, run) => after(ms, () => (run(), onTimer()));
    const id = await process.callId("tool");
    const task = await begun.promise;
    for (let turns = 0; turns < 10; turns++) {
      onTimer = () => undefined;
      await progressAfter(process, id, 1_000);
      task.progress(2 * turns + 1);
      expect(await progressAfter(process, id, 50)).toEqual({ progress: 2 * turns + 1 });
      onTimer = () => {
        let reported = Promise.resolve();
        for (let turn = 0; turn < turns; turn++) reported = reported.then(() => undefined);
        void reported.then(() => task.progress(2 * turns + 2));
      };
      expect(await progressAfter(process, id, 50), `${turns} turns`).toEqual({ progress: 2 * turns + 2 });
    }
  });

  it("of a run that became a task is the furthest that it reported before", async () => {
    const handler: Handler = async (_, task) => {
      for (const n of [1, 9, 4]) task.progress(n);
      await task.sleep("long", 3_600_000);
      return text("done");
    };
    const tools = { tool: { config: { promoteAfterMs: 1_000 }, handler } };
    const process = await Process.started({ tools });
    const call = { ...nobody, tool: "tool", arguments: {}, origin: { capabilities: {} } };
    const end = await process.runtime.call(call, new AbortController().signal);
    if (end.kind !== "task") throw new Error("answered directly");
    expect(await progressAfter(process, end.snapshot.task.id, 500)).toEqual({ progress: 9 });
  });
});

describe("a second request to cancel", () => {
  it("changes nothing that clients could see, and tells the handler nothing", async () => {
    let aborts = 0;
    const process = await Process.started({
      tools: {
        tool: (_, task) => {
          task.signal.addEventListener("abort", () => aborts++);
          return new Promise<never>(() => undefined);
        },
      },
    });
    const id = await process.callId("tool");
    await process.clock.advance(0);
    await process.cancel(id);
    const { task } = await process.get(id);
    const changes: string[] = [];
    process.runtime.watch([id], (changed) => changes.push(changed));
    await process.clock.advance(1);
    await process.cancel(id);
    expect((await process.get(id)).task).toEqual(task);
    expect([changes, aborts]).toEqual([[], 1]);
    await process.clock.advance(5_000);
    expect((await process.get(id)).task.state).toBe("cancelled");
  });
});
