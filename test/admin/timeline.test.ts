import { expect, it } from "vitest";
import type { TimelineEntry } from "../../src/admin/task-parts.ts";
import { Process, text, type Handler } from "../runtime/harness.ts";
import { adminOf } from "./operator.ts";

const steps = 1_300;

const long: Handler = async (_args, task) => {
  const failing = (): never => {
    throw new Error("row 7 is broken");
  };
  for (let row = 0; row < steps; row++)
    await task.step(["row", row], () => (row === 7 ? failing() : row)).catch(() => undefined);
  await task.step("write summary", () => {
    throw new Error("summary failed");
  });
  return text("done");
};

const keysOf = (entries: readonly TimelineEntry[]): readonly string[] => entries.map(({ key }) => key);

it("shows what failed in a long timeline, the newest and how much there is, and pages all of it", async () => {
  const process = await Process.started({ tools: { long } });
  const id = await process.callId("long");
  await process.ended(id);
  const admin = adminOf(process);
  const { timeline, timelineIsCut, timelineSummary } = await admin.show(id);
  expect(timelineIsCut).toBe(true);
  expect(timelineSummary).toEqual({ entries: steps + 1, failed: 2, open: 0 });
  expect(timeline).toHaveLength(1_000);
  expect(timeline.filter(({ error }) => error !== null)).toMatchObject([
    { key: '["row",7]', error: expect.stringContaining("row 7 is broken") as string },
    { key: "write summary", error: expect.stringContaining("summary failed") as string },
  ]);
  expect(keysOf(timeline).slice(0, 2)).toEqual(['["row",7]', `["row",${steps - 998}]`]);
  const all: TimelineEntry[] = [];
  for (let after: number | null | undefined; after !== null;) {
    const page = await admin.timeline(id, { limit: 500, ...(after !== undefined && { after }) });
    all.push(...page.entries);
    after = page.next;
  }
  const rows = Array.from({ length: steps }, (_, row) => `["row",${row}]`);
  expect(keysOf(all)).toEqual([...rows, "write summary"]);
  expect(all.filter(({ error }) => error !== null)).toHaveLength(2);
  await expect(admin.timeline("nobody")).rejects.toMatchObject({ code: "unknown_task" });
  await process.runtime.stop();
});
