import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { worker } from "../../src/runtime/threads/worker-options.ts";
import type { StepOptions, TaskContext } from "../../src/runtime/tool/task-context.ts";
import type { TaskSnapshot } from "../../src/task/record.ts";
import type * as exports from "./work.ts";
import { bodyOf, Process, text, type Handler, type Setup } from "../runtime/harness.ts";

vi.setConfig({ testTimeout: 120_000 }); // with real threads, on a busy machine
const patient = { timeout: 60_000, interval: 20 };
const work = worker<typeof exports>(new URL("./work.ts", import.meta.url));
let folder: string;
let places = 0;
const file = (name = "begun"): string => join(folder, `${places}-${name}`);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-threads-"));
});
beforeEach(() => void places++);
afterAll(() => rm(folder, { recursive: true, force: true }));

const settings: Setup["options"] = { workerThreads: 1, crashBackoffMs: 0 };

const started = (tools: Setup["tools"], more: Setup["options"] = {}): Promise<Process> =>
  Process.started({ tools, options: { ...settings, ...more } });

async function endOf(process: Process, id: string): Promise<TaskSnapshot> {
  await vi.waitUntil(async () => (await process.get(id)).task.finishedAt !== null, patient);
  return process.get(id);
}

const linesOf = async (path: string): Promise<string[]> =>
  (await readFile(path, "utf8").catch(() => "")).split("\n").filter((line) => line !== "");

const until = (path: string, lines = 1): Promise<true> =>
  vi.waitUntil(async () => (await linesOf(path)).length >= lines, patient);

/** What a handler got, in one run of a task. */
async function resultOf(
  handler: (task: TaskContext) => Promise<unknown>,
  more: Setup["options"] = {},
): Promise<unknown> {
  let result: unknown;
  const tool: Handler = async (_, task) => {
    result = await handler(task).catch((error: unknown) => error);
    return text("done");
  };
  const process = await started({ tool }, more);
  const id = await process.callId("tool");
  await vi.waitUntil(async () => {
    await process.clock.advance(1_000); // for the pauses between tries
    return (await process.get(id)).task.finishedAt !== null;
  }, patient);
  await process.runtime.stop();
  return result;
}

describe("a step on a thread", () => {
  it("gets its input and its context, and resolves with what the function returns", async () => {
    const result = await resultOf((task) =>
      task.step("greet", { worker: work, export: "greet" }, { name: "Ann" }),
    );
    expect(result).toBe("Hello Ann (:greet)");
  });

  it("takes and gives what other steps can have", async () => {
    const value = { at: new Date(1), many: new Map([[1n, new Set(["a"])]]), bytes: Uint8Array.of(1, 2) };
    expect(await resultOf((task) => task.step("same", { worker: work, export: "same" }, value))).toEqual(
      value,
    );
    expect(
      await resultOf((task) => task.step("none", { worker: work, export: "same" }, undefined)),
    ).toBeUndefined();
  });

  it("refuses by its place what cannot be copied", async () => {
    const input = { deep: [{ fn: () => 1 }] };
    const refused = await resultOf((task) => task.step("in", { worker: work, export: "same" }, input));
    expect(refused).toMatchObject({
      code: "not_json",
      message: 'The input of step "in" cannot be stored: input.deep[0].fn is a function.',
    });
    const options = { worker: work, export: "functions", retries: 3 } as const;
    const result = await resultOf((task) => task.step("out", options, file()));
    expect(result).toMatchObject({
      code: "not_json",
      message: 'The result of step "out" cannot be stored: result.list[0] is a function.',
    });
    expect(await linesOf(file())).toHaveLength(1); // it has run, and does not run again
  });

  it("rejects with what the function throws, as other steps do, and tells where", async () => {
    const error = await resultOf((task) =>
      task.step("throw", { worker: work, export: "throwing" }, "too far"),
    );
    expect(error).toBeInstanceOf(RangeError);
    expect(error).toMatchObject({ message: "too far", code: "E_OWN", data: { part: 1n } });
    expect((error as Error).stack).toContain("work.ts");
  });

  it("is not tried again after a NonRetryableError", async () => {
    const options = { worker: work, export: "refusing", retries: 3 } as const;
    expect(await resultOf((task) => task.step("no", options, file()))).toMatchObject({
      message: "never again",
    });
    expect(await linesOf(file())).toHaveLength(1);
  });

  it("reports from inside, as the step that it is", async () => {
    const process = await started({
      tool: async (_, task) =>
        text(await task.step("report", { worker: work, export: "reporting" }, undefined)),
    });
    const id = await process.callId("tool");
    const { task } = await endOf(process, id);
    expect(task.progress).toMatchObject({ progress: 2, total: 3, message: "two" });
    const logs = await process.store.logs?.read(id, "log", 0, 10);
    expect(logs?.map(({ step, body }) => [step, JSON.parse(body) as unknown])).toEqual([
      [
        "report",
        {
          level: "warning",
          text: "a line",
          data: { error: { name: "TypeError", message: "inner" }, map: [["a", 1]] },
        },
      ],
    ]);
    const output = await process.store.logs?.read(id, "output", 0, 10);
    expect(output?.map(({ body }) => JSON.parse(body) as unknown)).toEqual([
      { type: "text", text: "a block" },
      { type: "text", text: "another" },
    ]);
    await process.runtime.stop();
  });

  it("says what is missing at its first use, and is not tried again", async () => {
    const none = new URL("./none.ts", import.meta.url);
    const options = (module: URL, name: string) => ({ worker: module, export: name, retries: 5 });
    expect(await resultOf((task) => task.step("a", options(none, "x"), 1))).toMatchObject({
      code: "configuration",
      message: `Step "a" cannot run on a thread: there is no module ${none.href}.`,
    });
    for (const name of ["x", "notAFunction", "toString"])
      expect(await resultOf((task) => task.step("b", options(work, name), 1))).toMatchObject({
        code: "configuration",
        message: expect.stringMatching(
          new RegExp(
            `^Step "b" cannot run on a thread: the module \\S+/work.ts exports no function "${name}". It exports`,
          ),
        ) as unknown,
      });
    const broken = new URL("./broken.ts", import.meta.url);
    expect(
      await resultOf((task) => task.step("c", { ...options(broken, "never"), retries: 0 }, 1)),
    ).toMatchObject({
      message: "The module is broken.",
    });
  });

  it.each([
    [{ worker: "./work.ts", export: "same" }, /worker must be the URL of a module/],
    [{ worker: new URL("https://example.com/a.js"), export: "same" }, /worker must be the URL of a module/],
    [{ worker: work }, /export/],
    [{ worker: work, export: "same", tries: 3 }, /tries/],
  ])("refuses %j", async (options, message) => {
    const given = options as unknown as { worker: typeof work; export: "same" };
    expect(await resultOf((task) => task.step("a", given, 1))).toMatchObject({
      code: "configuration",
      message: expect.stringMatching(message) as unknown,
    });
  });
});

describe("a thread that crashes", () => {
  const cases = [
    ["exit", "it ended itself with exit code 7"],
    ["throw", "uncaught"],
    ["reject", "unhandled"],
    ["memory", "memory limit"],
  ] as const;

  it.each(cases)("(%s) is one try that has failed", async (how, reason) => {
    const run = (task: TaskContext, more: StepOptions): Promise<string> =>
      task.step("crash", { worker: work, export: "crashing", ...more }, { file: file(how), how, times: 1 });
    const limit = { maxWorkerHeapBytes: 32 * 1024 ** 2 };
    expect(await resultOf((task) => run(task, { retries: 1 }), limit)).toBe("done after 1");
    expect(await linesOf(file(how))).toHaveLength(2);
    await rm(file(how));
    expect(await resultOf((task) => run(task, {}), limit)).toMatchObject({
      name: "HoldfastError",
      code: "worker_crashed",
      message: expect.stringContaining(reason) as unknown,
    });
  });

  it("is the end of the call, and not of the server", async () => {
    const process = await started({
      tool: async (_, task) =>
        text(
          await task.step(
            "crash",
            { worker: work, export: "crashing" },
            { file: file(), how: "exit", times: 9 },
          ),
        ),
    });
    const end = await endOf(process, await process.callId("tool"));
    expect(bodyOf(end)).toMatchObject({ isError: true });
    await process.runtime.stop();
  });
});

describe("a function that does not end", () => {
  const computes: Handler = async (_, task) =>
    text(await task.step("compute", { worker: work, export: "computing", killAfterMs: 0 }, { file: file() }));

  it("ends with its thread when the task is cancelled, and another takes its place", async () => {
    const other: Handler = async (_, task) =>
      text(await task.step("greet", { worker: work, export: "greet" }, { name: "Bob" }));
    const process = await started({ computes, other });
    const id = await process.callId("computes");
    await until(file());
    const waits = await process.callId("other");
    await process.cancel(id);
    expect((await endOf(process, id)).task.state).toBe("cancelled");
    expect((await endOf(process, waits)).outcome?.kind).toBe("result");
    await process.runtime.stop();
  });

  it("ends with its thread when its time is over, and is tried again when that is gone", async () => {
    const process = await started({
      tool: async (_, task) => {
        const step = task.step(
          "compute",
          { worker: work, export: "computing", killAfterMs: 0, timeoutMs: 500, retries: 1 },
          { file: file() },
        );
        return text(String(await step.catch((error: unknown) => (error as { code: string }).code)));
      },
    });
    const id = await process.callId("tool");
    await until(file());
    await process.clock.advance(500);
    const failed = await vi.waitUntil(() => process.store.journalEntry(id, "compute"), patient);
    await process.clock.advance((failed?.deadlineAt ?? 0) - process.clock.now()); // the pause
    await until(file(), 2);
    await process.clock.advance(500);
    await endOf(process, id);
    expect(bodyOf(await process.get(id))).toMatchObject({ content: [{ text: "step_timeout" }] });
    await process.runtime.stop();
  });

  it("learns of it by its signal first", async () => {
    const process = await started({
      tool: async (_, task) =>
        text(
          String(await task.step("wait", { worker: work, export: "waiting", killAfterMs: 60_000 }, file())),
        ),
    });
    const id = await process.callId("tool");
    await until(file());
    await process.cancel(id);
    await until(file(), 2);
    expect(await linesOf(file())).toEqual(["begun", "The task was cancelled."]);
    expect((await endOf(process, id)).task.state).toBe("cancelled");
    await process.runtime.stop();
  });

  it("does not hold up a stop, and runs again in the next process", async () => {
    const first = await started({ computes });
    const id = await first.callId("computes");
    await until(file());
    const stopping = first.runtime.stop(1_000);
    await first.clock.advance(1_000);
    await stopping;
    const next = await first.restart({ tools: { computes }, options: settings });
    await until(file(), 2);
    await next.cancel(id);
    await endOf(next, id);
    await next.runtime.stop();
  });
});

it("a finished step does not run again, and one that was running begins again after a crash", async () => {
  const tool: Handler = async (_, task) => {
    await task.step(
      "first",
      { worker: work, export: "computing" },
      { file: file("first"), until: file("go") },
    );
    return text(
      await task.step(
        "second",
        { worker: work, export: "computing" },
        { file: file("second"), until: file("on") },
      ),
    );
  };
  const process = await started({ tool });
  const id = await process.callId("tool");
  await writeFile(file("go"), "");
  await until(file("second"));
  const next = await process.crash({ tools: { tool }, options: settings });
  await until(file("second"), 2);
  await writeFile(file("on"), ""); // for the thread of the process that is taken for dead, too
  expect((await endOf(next, id)).outcome?.kind).toBe("result");
  expect(await linesOf(file("first"))).toHaveLength(1);
  await next.runtime.stop();
});

it("principals take turns at threads", async () => {
  const order: string[] = [];
  const tool: Handler = async (_, task) => {
    await task.step("compute", { worker: work, export: "computing" }, { file: file(), until: file("go") });
    order.push(String(task.caller.principal));
    return text("done");
  };
  const process = await started({ tool });
  const call = (principal: string): Promise<string> => process.callId("tool", { principal });
  await call("ann");
  await until(file()); // it has the thread
  for (const principal of ["ann", "ann", "ann", "bob"]) await call(principal);
  await writeFile(file("go"), "");
  await vi.waitUntil(() => order.length === 5, patient);
  expect(order.indexOf("bob")).toBeLessThanOrEqual(2);
  await process.runtime.stop();
});
