import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, expectTypeOf, it, vi } from "vitest";
import * as z from "zod";
import { createTasks } from "../../src/server/tasks.ts";
import { memoryStore } from "../../src/store/sqlite/memory-store.ts";
import { worker } from "../../src/runtime/threads/worker-options.ts";
import type { ToolConfig } from "../../src/runtime/tool/tool.ts";
import { wholeJournal } from "../../src/testing/sample-task.ts";
import type { TaskSnapshot } from "../../src/task/record.ts";
import type * as exports from "./work.ts";
import { bodyOf, Process, text, type Setup } from "../runtime/harness.ts";

vi.setConfig({ testTimeout: 120_000 }); // with real threads, on a busy machine
const patient = { timeout: 60_000, interval: 20 };
const work = worker<typeof exports>(new URL("./work.ts", import.meta.url));
let folder: string;
let places = 0;
const file = (name = "begun"): string => join(folder, `${places}-${name}`);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-handlers-"));
});
beforeEach(() => void places++);
afterAll(() => rm(folder, { recursive: true, force: true }));

const setupOf = (name: string, more: ToolConfig<undefined> = {}): Setup => ({
  tools: { tool: { config: { ...more, worker: { module: work, export: name, killAfterMs: 50 } } } },
  options: { workerThreads: 1, crashBackoffMs: 0 },
});

async function endOf(process: Process, id: string): Promise<TaskSnapshot> {
  await vi.waitUntil(async () => {
    await process.clock.advance(1_000); // for the pauses between attempts
    return (await process.get(id)).task.finishedAt !== null;
  }, patient);
  return process.get(id);
}

const begun = (path: string, times = 1): Promise<true> =>
  vi.waitUntil(async () => {
    const lines = (await readFile(path, "utf8").catch(() => "")).split("\n");
    return lines.length > times;
  }, patient);

describe("a handler on a thread", () => {
  it("gets the arguments, and ends its task with what it returns", async () => {
    const process = await Process.started(setupOf("greet"));
    const id = await process.callId("tool", { arguments: { name: "Ann" } });
    expect(bodyOf(await endOf(process, id))).toEqual(text("Hello Ann (andler)"));
    expect(await wholeJournal(process.store, id)).toMatchObject([{ key: "handler", kind: "step" }]);
    await process.runtime.stop();
  });

  it("reports progress, status, log and output of its task", async () => {
    const process = await Process.started(setupOf("reporting"));
    const id = await process.callId("tool");
    const { task } = await endOf(process, id);
    expect(task.progress).toMatchObject({ progress: 2, total: 3, message: "two" });
    expect([task.logged, task.outputs]).toEqual([1, 2]);
    await process.runtime.stop();
  });

  it("fails with what the function throws, and with a result that is none", async () => {
    const process = await Process.started(setupOf("throwing"));
    const threw = await endOf(process, await process.callId("tool", { arguments: { a: 1 } }));
    expect(bodyOf(threw)).toMatchObject({ isError: true });
    await process.runtime.stop();
  });

  it("counts a thread that crashes as an attempt that failed", async () => {
    const retry = { attempts: 3, backoff: { firstMs: 1_000 } };
    const process = await Process.started(setupOf("crashing", { retry }));
    const id = await process.callId("tool", { arguments: { file: file(), how: "exit", times: 2 } });
    const ended = await endOf(process, id);
    expect(bodyOf(ended)).toEqual(text("done after 2"));
    expect(ended.task).toMatchObject({ failures: 2, crashes: 0 });
    await process.runtime.stop();
  });

  it("is ended with its thread when the task is cancelled, and the thread takes the next", async () => {
    const process = await Process.started(setupOf("computing"));
    const first = await process.callId("tool", { arguments: { file: file() } });
    await begun(file());
    await process.cancel(first);
    const second = await process.callId("tool", { arguments: { file: file("next"), until: file() } });
    expect((await endOf(process, first)).task.state).toBe("cancelled");
    expect((await endOf(process, second)).task.outcomeKind).toBe("result");
    await process.runtime.stop();
  });

  it("is ended with its thread by the time limit of the tool", async () => {
    const process = await Process.started(setupOf("computing", { timeoutMs: 5_000 }));
    const id = await process.callId("tool", { arguments: { file: file() } });
    await begun(file());
    expect((await endOf(process, id)).outcome?.body).toContain("5000 ms");
    await process.runtime.stop();
  });

  it("runs again after a crash of the server, as a step does, unless its tool forbids that", async () => {
    for (const [onCrash, kind, times] of [
      ["auto", "result", 2],
      ["fail", "error", 1],
    ] as const) {
      const path = file(onCrash);
      const setup = setupOf("computing", { onCrash });
      const first = await Process.started(setup);
      const id = await first.callId("tool", { arguments: { file: path, until: file(`${onCrash} end`) } });
      await begun(path);
      const second = await first.crash(setup);
      await writeFile(file(`${onCrash} end`), "");
      expect((await endOf(second, id)).task.outcomeKind).toBe(kind);
      expect((await readFile(path, "utf8")).split("\n")).toHaveLength(times + 1);
      await second.runtime.stop();
    }
  });

  it("is refused beside another handler, and where the function does not fit the tool", async () => {
    const tasks = createTasks({ store: memoryStore() });
    const greet = { module: work, export: "greet" } as const;
    const both = { worker: greet } as never;
    expect(() => tasks.tool("both", both, async () => "never")).toThrow(
      'Tool "both" has a worker and a handler: remove one of the two',
    );
    expect(() => tasks.threadTool("none", {} as never)).toThrow('Tool "none" has no handler');
    const inputSchema = z.object({ name: z.string() });
    const tool = tasks.threadTool("greet", { inputSchema, worker: greet });
    expectTypeOf(tool.name).toEqualTypeOf<string>();
    // @ts-expect-error -- the function wants a name
    tasks.threadTool("other arguments", { inputSchema: z.object({ title: z.string() }), worker: greet });
    // @ts-expect-error -- no such function
    tasks.threadTool("unknown", { inputSchema, worker: { module: work, export: "great" } });
    await tasks.stop();
  });
});
