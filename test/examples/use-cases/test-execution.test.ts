import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { testTasks, type TestTask } from "holdfast/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { TapReader } from "../../../examples/use-cases/tap-reader.ts";
import { addTestExecution } from "../../../examples/use-cases/test-execution.ts";
import { newFolder } from "../../docs/example-process.ts";

const sums = `import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
describe("sum", () => {
  it("adds", () => assert.equal(1 + 1, 2));
  it("carries", () => assert.deepEqual({ sum: 9 + 1 }, { sum: 11 }));
});
test("it's #1", () => console.log("seen by a person"));
test("later", { todo: true }, () => assert.fail("not yet"));
test("elsewhere", { skip: "needs a printer" }, () => {});
test("secrets", () => assert.equal(process.env.TOKEN_OF_THE_SERVER, undefined));
`;

const endless = `import { test } from "node:test";
test("says who it is", () => console.log("process", process.pid));
test("never ends", () => new Promise(() => setInterval(() => {}, 1_000_000)));
`;

/** A folder with one project for each of these test files. */
async function projects(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await newFolder();
  for (const [project, code] of Object.entries(files)) {
    await mkdir(join(folder, project));
    await writeFile(join(folder, project, "it.test.mjs"), code);
  }
  return folder;
}

const lines = async (task: TestTask): Promise<string[]> =>
  (await task.logs()).map(({ level, text }) => `${level}: ${text}`);

/** The process that runs the endless test, as soon as the log says so. It is gone when the test has ended. */
async function processOf(task: TestTask): Promise<number> {
  for await (const { text } of task.handle.logs()) {
    const pid = /^process (\d+)$/.exec(text)?.[1];
    if (pid === undefined) continue;
    onTestFinished(() => void isRunning(Number(pid), "SIGKILL"));
    return Number(pid);
  }
  throw new Error("The log has no process.");
}

function isRunning(pid: number, signal: NodeJS.Signals | 0 = 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

it("runs the tests of a project, and logs them as a person reads them", async () => {
  process.env["TOKEN_OF_THE_SERVER"] = "secret";
  onTestFinished(() => void delete process.env["TOKEN_OF_THE_SERVER"]);
  const folder = await projects({ sums });
  await using t = await testTasks((tasks) => addTestExecution(tasks, folder));
  const task = await t.start("run_tests", { project: "sums" });
  const { isError, content, structuredContent } = await task.result();
  expect({ isError, content }).toEqual({
    isError: true,
    content: [{ type: "text", text: "3 passed, 1 failed, 2 skipped" }],
  });
  expect(structuredContent).toEqual({
    passed: 3,
    failed: 1,
    skipped: 2,
    failures: [
      {
        test: "sum › carries",
        error: expect.stringMatching(/^Expected values to be strictly deep-equal:\n[^]*sum: 1[01]/),
        location: expect.stringMatching(/it\.test\.mjs:5:3$/),
      },
    ],
  });
  const log = await lines(task);
  expect(log.filter((line) => !line.startsWith("debug"))).toEqual([
    "info: ✔ sum › adds",
    "error: ✖ sum › carries: Expected values to be strictly deep-equal:",
    "info: ✔ it's #1",
    expect.stringMatching(/^info: ﹣ later/),
    "info: ﹣ elsewhere",
    "info: ✔ secrets",
  ]);
  expect(log).toContain("debug: seen by a person");

  const one = await t.call("run_tests", { project: "sums", only: "adds" });
  expect(one).toMatchObject({ structuredContent: { passed: 1, failed: 0 } });
});

it("ends its process where it is cancelled", async () => {
  const folder = await projects({ endless });
  await using t = await testTasks((tasks) => addTestExecution(tasks, folder));
  const task = await t.start("run_tests", { project: "endless" });
  const pid = await processOf(task);
  expect(isRunning(pid)).toBe(true);
  await task.cancel();
  await expect(task.result()).rejects.toMatchObject({ code: "cancelled" });
  await expect.poll(() => isRunning(pid)).toBe(false);
});

it("does not run again after a crash, and keeps its log", async () => {
  const folder = await projects({ endless });
  await using t = await testTasks((tasks) => addTestExecution(tasks, folder));
  const task = await t.start("run_tests", { project: "endless" });
  await processOf(task);
  await t.crash();
  await t.restart();
  await expect(task.result()).rejects.toThrow('The server stopped while "run_tests" was running.');
  const log = (await lines(task)).filter((line) => line.startsWith("debug: process"));
  expect(log).toHaveLength(1);
});

it("says so where its process dies before all tests have ended", async () => {
  const folder = await projects({ dies: "process.exit(3);\n", none: "syntax error" });
  await using t = await testTasks((tasks) => addTestExecution(tasks, folder));
  const died = await t.call("run_tests", { project: "dies" });
  expect(died).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("ended with 3") }] });
  const broken = await t.call("run_tests", { project: "none" });
  expect(broken.isError).toBe(true);
  const missing = await t.call("run_tests", { project: "missing" });
  expect(missing.isError).toBe(true);
});

describe("what the reporter writes", () => {
  const read = (text: string): unknown[] => {
    const reader = new TapReader();
    return text.split("\n").flatMap((line) => reader.read(line) ?? []);
  };

  it("is read with the names of suites, and errors of many lines", () => {
    const text = `TAP version 13
# Subtest: outer
    # Subtest: inner
        # Subtest: fails
        not ok 1 - fails
          ---
          duration_ms: 1
          type: 'test'
          location: '/it.js:1:2'
          failureType: 'testCodeFailure'
          error: |-
            first

            second
          code: 'ERR_TEST_FAILURE'
          ...
        1..1
    not ok 1 - inner
      ---
      type: 'suite'
      failureType: 'subtestsFailed'
      ...
    1..1
not ok 1 - outer
  ---
  type: 'suite'
  failureType: 'subtestsFailed'
  ...
printed
1..1
# tests 1`;
    expect(read(text)).toEqual([
      { test: "outer › inner › fails", end: "failed", error: "first\n\nsecond", location: "/it.js:1:2" },
      { printed: "printed" },
    ]);
  });
});
