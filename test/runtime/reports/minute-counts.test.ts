import { expect, it } from "vitest";
import { MinuteCounts } from "../../../src/runtime/reports/process-counts.ts";

it("counts what clients send too much of together", () => {
  const counts = new MinuteCounts();
  for (let n = 0; n < 1_000; n++) counts.refused("not_found", `method/${n}`);
  for (let n = 0; n < 1_000; n++) counts.count(`tool-${n}`, "created");
  counts.refused("not_found", "method/3");
  counts.ended("tool-3", "completed", 5);
  counts.ended("tool-999", "failed", 5);
  const { refusals, tools } = counts;
  expect(refusals).toHaveLength(201);
  expect(refusals.at(-1)).toEqual({ code: "(other)", method: null, count: 800 });
  expect(refusals[3]).toEqual({ code: "not_found", method: "method/3", count: 2 });
  expect(tools).toHaveLength(201);
  expect(tools.at(-1)).toMatchObject({ tool: "(other)", created: 800, failed: 1, durations: [[11, 1]] });
  expect(tools[3]).toMatchObject({ created: 1, completed: 1 });
});

it("keeps no text as a method that is no name", () => {
  const counts = new MinuteCounts();
  for (const method of ["tasks/get", "<b>secret</b>", "a".repeat(65), ""])
    counts.refused("not_found", method);
  counts.refused("not_found", undefined);
  expect(counts.refusals).toEqual([
    { code: "not_found", method: "tasks/get", count: 1 },
    { code: "not_found", method: "(other)", count: 3 },
    { code: "not_found", method: null, count: 1 },
  ]);
});
