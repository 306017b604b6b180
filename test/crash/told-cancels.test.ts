import { expect, test } from "vitest";
import type { Job } from "./job.ts";
import type { LogEvent, LogLine } from "./log.ts";
import type { Span } from "./pace.ts";
import { overlaps, toldCancels } from "./told-cancels.ts";

const url = "http://127.0.0.1:1/mcp";
const sent = 10_000;
const endedAt = sent + 3_100;

const job: Job = {
  tool: "hires",
  args: {},
  key: "k",
  toBeCancelled: true,
  core: false,
  waits: false,
  word: "w",
  inBurst: false,
  eagerness: 1,
  respondsFrom: 0,
  touches: [],
  taskId: "task",
  cancel: { url, since: sent, until: sent + 10 },
  ended: JSON.stringify({ status: "cancelled", lastUpdatedAt: new Date(endedAt).toISOString() }),
};

function line(event: LogEvent, at: number, task = "task", key = ""): LogLine {
  return { event, task, key, value: event === "serves" ? "serve,work" : "", attempt: 1, pid: 1, at };
}

const lines = [line("serves", 0, "", url), line("begins", 5_000), line("kept", 5_100, "task", "hired")];

test("a handler that was not told of its cancel had to be, unless its process had no time, or its store was away", () => {
  expect(toldCancels([job], lines).missed).toHaveLength(1);
  expect(toldCancels([job], [...lines, line("told", sent + 100)]).missed).toEqual([]);
  const during = (outage: Span) => toldCancels([job], lines, (span) => overlaps(outage, span)).missed;
  expect(during({ since: sent + 500, until: sent + 2_900 })).toEqual([]);
  expect(during({ since: 0, until: sent - 1 })).toHaveLength(1);
});
