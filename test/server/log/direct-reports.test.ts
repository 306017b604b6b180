import { expect, it } from "vitest";
import { FakeClock } from "../../../src/testing/clocks.ts";
import { DirectReports } from "../../../src/server/log-messages.ts";

interface Scene {
  readonly clock: FakeClock;
  readonly reports: DirectReports;
  readonly sent: number[];
}

function scene(): Scene {
  const clock = new FakeClock();
  const sent: number[] = [];
  const notify = (_method: string, params: object): void =>
    void sent.push((params as { progress: number }).progress);
  const reports = new DirectReports({
    clock,
    tool: "count",
    progressToken: "p",
    logLevel: () => undefined,
    notify,
  });
  return { clock, reports, sent };
}

/** Reports every number from `from` up to `to`, as fast as it can. */
function count(reports: DirectReports, from: number, to: number): void {
  for (let progress = from; progress <= to; progress++) reports.progress({ progress });
}

it("sends few reports at once, and then the furthest of those that come in a while [B-138]", async () => {
  const { clock, reports, sent } = scene();
  count(reports, 1, 1_000);
  expect(sent).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  reports.progress({ progress: 500 });
  await clock.advance(99);
  expect(sent).toHaveLength(10);
  await clock.advance(1);
  expect(sent.slice(10)).toEqual([1_000]);
  count(reports, 1_001, 2_000);
  expect(sent).toHaveLength(11);
  await clock.advance(100);
  expect(sent.slice(11)).toEqual([2_000]);
  expect(clock.armed).toBe(0);
});

it("sends at once again what comes after a pause, and no more than it ever may", async () => {
  const { clock, reports, sent } = scene();
  count(reports, 1, 10);
  await clock.advance(60_000);
  count(reports, 11, 100);
  expect(sent.slice(10)).toEqual([11, 12, 13, 14, 15, 16, 17, 18, 19, 20]);
});

it("sends the last report before the answer, and none after it [B-139]", async () => {
  const { clock, reports, sent } = scene();
  count(reports, 1, 50);
  reports.end();
  expect(sent.at(-1)).toBe(50);
  count(reports, 51, 60);
  await clock.advance(60_000);
  expect(sent).toHaveLength(11);
  expect(clock.armed).toBe(0);
});

it("has reports wait no longer after a clock that was set back", async () => {
  const { clock, reports, sent } = scene();
  count(reports, 1, 11);
  clock.jump(-3_600_000);
  await clock.advance(100);
  expect(sent.at(-1)).toBe(11);
  await clock.advance(100);
  reports.progress({ progress: 12 });
  expect(sent.at(-1)).toBe(12);
});

it("waits for nothing where nobody asked for progress [B-135]", () => {
  const clock = new FakeClock();
  const sent: string[] = [];
  const notify = (method: string): void => void sent.push(method);
  const call = { clock, tool: "count", progressToken: undefined, logLevel: () => undefined, notify };
  count(new DirectReports(call), 1, 100);
  expect([sent, clock.armed]).toEqual([[], 0]);
});
