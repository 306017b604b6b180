import { expect, it } from "vitest";
import { ActivitySum } from "../../src/admin/activity-of.ts";
import type { RefusalReport } from "../../src/runtime/reports/process-report.ts";

const report = {
  at: 0,
  host: "reports-1",
  pid: 1,
  version: "1.0.0",
  startedAt: 0,
  roles: [],
  slots: { used: 0, limit: 1 },
  parked: 0,
  leaked: 0,
  active: [],
  loopDelay: null,
  memoryBytes: 0,
  tools: [],
};

it("shows the refusals that were frequent, whatever methods clients made up in six hours", () => {
  const minutes = 360;
  const sum = new ActivitySum(0, minutes);
  for (let minute = 0; minute < minutes; minute++) {
    const refusals: RefusalReport[] = [{ code: "unauthorized", method: "tools/call", count: 3 }];
    for (let made = 0; made < 199; made++)
      refusals.push({ code: "method_not_found", method: `m${minute}/${made}`, count: 1 });
    sum.add(minute, { ...report, refusals });
  }
  const { refusals } = sum.result();
  expect(refusals.length).toBeLessThanOrEqual(201);
  const other = refusals.find(({ code }) => code === "(other)");
  expect(other?.byMinute).toHaveLength(minutes);
  expect(other?.byMinute.at(-1)).toBe(199);
  expect(refusals).toContainEqual({
    code: "unauthorized",
    method: "tools/call",
    count: 3 * minutes,
    byMinute: Array.from({ length: minutes }, () => 3),
  });
  expect(refusals.reduce((all, { count }) => all + count, 0)).toBe(202 * minutes);
  expect(refusals.map(({ count }) => count)).toEqual(
    refusals.map(({ count }) => count).toSorted((a, b) => b - a),
  );
});
