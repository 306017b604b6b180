import type { Tasks } from "holdfast";
import { type TestOptions, testTasks } from "holdfast/testing";
import { expect, it } from "vitest";
import { text } from "../runtime/harness.ts";

const requestedSchema = { type: "object" as const, properties: {} };

function addPublish(tasks: Tasks): void {
  tasks.tool("publish", { requires: ["elicitation"] }, async (_, task) => {
    await task.step("query", async () => {
      await task.log("info", "2 rows", { rows: 2 });
      return 2;
    });
    const { action } = await task.elicit("approve", { message: "Send?", requestedSchema });
    await task.output({ type: "text", text: action });
    await task.sleep("cool off", 3_600_000);
    await task.log("warning", "late");
    return text(action);
  });
}

it.each<Pick<TestOptions, "protocolVersion" | "generation">>([
  { protocolVersion: "2026-07-28" },
  { protocolVersion: "2025-11-25" },
  { protocolVersion: "2025-06-18" },
  { generation: "sep-1686" },
])("dies, asks and sleeps before a client that speaks %o", async (speaks) => {
  await using t = await testTasks(addPublish, speaks);
  const crashed = t.crash({ after: "query" });
  const task = await t.start("publish");
  await crashed;
  await t.restart();
  await task.answer("approve", { action: "accept", content: {} });
  await t.clock.advance("59m");
  await t.crash();
  await t.restart();
  await t.clock.advance("1m");
  expect(await task.result()).toMatchObject(text("accept"));
  expect([t.runs("query"), task.runs("query")]).toEqual([1, 1]);
  await task.assertJournal(["query", "approve", "cool off"]);
});

it("shows what a task has logged and put out, while it works and while the server is down", async () => {
  await using t = await testTasks(addPublish);
  const began = new Date(t.clock.now()).toISOString();
  const task = await t.start("publish");
  await task.question("approve");
  const first = { seq: 1, at: began, level: "info", text: "2 rows", data: { rows: 2 }, step: "query" };
  expect(await task.logs()).toEqual([first]);
  expect(await task.output()).toEqual([]);
  await task.answer("approve", { action: "accept", content: {} });
  await t.clock.advance("30m");
  await t.crash();
  expect(await task.output()).toEqual([{ seq: 1, at: began, content: { type: "text", text: "accept" } }]);
  await t.restart();
  await t.clock.advance("30m");
  await task.result();
  const lines = await task.logs();
  expect(lines.map(({ level, text: said }) => `${level} ${said}`)).toEqual(["info 2 rows", "warning late"]);
  const read: unknown[] = [];
  for await (const line of task.handle.logs()) read.push(line);
  expect(read).toEqual(lines);
});

it("says which protocols there are", async () => {
  // @ts-expect-error: no such revision
  await expect(testTasks(addPublish, { protocolVersion: "2025-06-19" })).rejects.toThrow("2025-06-18");
  const mixed = { protocolVersion: "2026-07-28", generation: "sep-1686" } as const;
  await expect(testTasks(addPublish, mixed)).rejects.toThrow("Protocol 2026-07-28 has no tasks of sep-1686.");
});
