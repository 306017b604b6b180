import assert from "node:assert/strict";
import { test } from "node:test";
import { testTasks } from "holdfast/testing";
import { addRunSuite, type FileResult } from "./run-suite.ts";

test("each file is in the log once, and each failure in the output, although the server dies on the way", async () => {
  const results: Record<string, FileResult> = {
    "a.test.ts": { passed: 3, failures: [] },
    "b.test.ts": { passed: 1, failures: ["adds: 3 is not 4"] },
    "c.test.ts": { passed: 2, failures: [] },
  };
  const none = { passed: 0, failures: [] };
  await using t = await testTasks((tasks) => addRunSuite(tasks, async (file) => results[file] ?? none));
  const died = t.crash({ after: ["file", "b.test.ts"] });
  const task = await t.start("run_suite", { files: Object.keys(results) });
  await died;
  await t.restart();

  assert.equal((await task.result()).isError, true);
  const log: string[] = [];
  for await (const { level, text, data } of task.handle.logs())
    log.push(`${level} ${text} ${JSON.stringify(data)}`);
  assert.deepEqual(log, [
    'info a.test.ts {"passed":3,"failed":0}',
    'error b.test.ts {"passed":1,"failed":1}',
    'info c.test.ts {"passed":2,"failed":0}',
  ]);
  const output: unknown[] = [];
  for await (const { content } of task.handle.output()) output.push(content);
  assert.deepEqual(output, [{ type: "text", text: "b.test.ts: adds: 3 is not 4" }]);
});
