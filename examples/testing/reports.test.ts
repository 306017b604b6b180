import assert from "node:assert/strict";
import { test } from "node:test";
import { testTasks } from "holdfast/testing";
import { makeServer } from "./reports.ts";

test("a report goes on with the next server", async () => {
  await using t = await testTasks({ durable: makeServer });
  const died = t.crash({ after: "rows" }); // a step of ctx.task
  const task = await t.start("report", { month: "2026-10" });
  await died;
  await t.restart();
  await task.answer("ctx.elicitInput 1", { action: "accept", content: {} }); // the first call of ctx.mcpReq.elicitInput
  assert.deepEqual((await task.result()).content, [{ type: "text", text: "2 rows" }]);
  assert.equal(t.runs("rows"), 1);
});
