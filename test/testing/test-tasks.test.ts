import type { Tasks } from "holdfast";
import { testTasks } from "holdfast/testing";
import { expect, it } from "vitest";
import * as z from "zod";

const rows = ["2026-10-01 42", "2026-10-02 17"];

function addReport(tasks: Tasks): void {
  const config = { description: "Makes a report", inputSchema: z.object({ month: z.string() }) };
  tasks.tool("report", config, async ({ month }, task) => {
    const found = await task.step("query", async () => rows.filter((row) => row.startsWith(month)));
    const url = await task.step("upload", () => `https://example.com/${found.length}`);
    return { content: [{ type: "text", text: url }] };
  });
}

const done = { content: [{ type: "text", text: "https://example.com/2" }] };

it("calls a tool through a real client", async () => {
  await using t = await testTasks(addReport);
  expect(await t.call("report", { month: "2026-10" })).toMatchObject(done);
  const task = await t.start("report", { month: "2026-10" });
  expect(await task.result()).toMatchObject(done);
  expect(await task.status()).toBe("completed");
  await task.assertJournal(["query", "upload"]);
  await task.assertJournal({ query: rows });
  expect(t.runs("query")).toBe(2);
  expect(task.runs("query")).toBe(1);
});

it("shows what steps returned, of any kind", async () => {
  const sizes = new Map([["a", 1n]]);
  await using t = await testTasks((tasks) => {
    tasks.tool("measure", {}, async (_, task) => (await task.step("sizes", () => sizes)).size);
  });
  const task = await t.start("measure", {});
  expect(await task.result()).toMatchObject({ content: [{ type: "text", text: "1" }] });
  await task.assertJournal({ sizes });
  await expect(task.assertJournal({ sizes: new Map([["a", 2n]]) })).rejects.toThrow(
    '"sizes" ended with [["a","1n"]], not with [["a","2n"]].',
  );
});

it("dies after a step was stored, which does not run again", async () => {
  await using t = await testTasks(addReport);
  const crashed = t.crash({ after: "query" });
  const task = await t.start("report", { month: "2026-10" });
  await crashed;
  await task.assertJournal({ query: rows });
  await task.assertJournal(["query"]);
  await t.restart();
  expect(await task.result()).toMatchObject(done);
  expect([t.runs("query"), t.runs("upload")]).toEqual([1, 1]);
});

it("dies before a step is stored, which runs again", async () => {
  await using t = await testTasks(addReport);
  const crashed = t.crash({ before: "upload" });
  const task = await t.start("report", { month: "2026-10" });
  await crashed;
  await task.assertJournal(["query"]);
  await t.restart();
  expect(await task.result()).toMatchObject(done);
  expect([t.runs("query"), t.runs("upload")]).toEqual([1, 2]);
});
