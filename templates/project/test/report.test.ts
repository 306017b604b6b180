import assert from "node:assert/strict";
import { test } from "node:test";
import { testTasks } from "holdfast/testing";
import { addReport } from "../src/tools.ts";

test("a report is uploaded once it is approved, and is not queried again after a crash", async (context) => {
  const t = await testTasks((tasks) => addReport(tasks));
  context.after(() => t.close());
  const queried = t.crash({ after: "query" }); // the server dies when the rows are stored
  const task = await t.start("report", { month: "2026-10" });
  await queried;
  await t.restart();

  const { params } = await task.question("approve");
  assert.equal(params["message"], "Upload 2 rows?");
  await task.answer("approve", { action: "accept", content: {} });
  const { content } = await task.result();
  assert.match(JSON.stringify(content), /https:\/\/example\.com\/.*rows=2/);
  assert.equal(t.runs("query"), 1);
  await task.assertJournal(["query", "approve", "upload"]);
});

test("a report that is declined is not uploaded", async (context) => {
  const t = await testTasks((tasks) => addReport(tasks));
  context.after(() => t.close());
  t.answers({ approve: { action: "decline" } });
  const { content } = await t.call("report", { month: "2026-10" });
  assert.deepEqual(content, [{ type: "text", text: "not uploaded" }]);
  assert.equal(t.runs("upload"), 0);
});
