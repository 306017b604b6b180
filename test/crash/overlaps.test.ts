import { expect, test } from "vitest";
import type { LogEvent, LogLine } from "./log.ts";
import { overlappingAttempts } from "./overlaps.ts";
import { longestStandstillMs } from "./standstills.ts";

const [stopped, other] = [1, 2];
const leaseMs = longestStandstillMs("postgres://localhost/tasks");

const line = (at: number, pid: number, event: LogEvent, attempt = 0): LogLine => ({
  event,
  task: attempt === 0 ? "" : "task",
  key: event === "run" || event === "kept" ? "step" : "",
  value: "",
  attempt,
  pid,
  at,
});

/** A process is stopped for so long in a step whose end is stored, and goes on for a moment in between; another one takes its task. */
const log = (standsMs: number, pauseMs: number): LogLine[] => [
  line(0, stopped, "begins", 1),
  line(10, stopped, "run", 1),
  line(20, stopped, "stopped"),
  line(20 + standsMs / 2, stopped, "continued"),
  line(20 + standsMs / 2 + pauseMs, stopped, "stopped"),
  line(20 + standsMs + pauseMs, other, "begins", 2),
  line(30 + standsMs + pauseMs, stopped, "continued"),
  line(40 + standsMs + pauseMs, stopped, "kept", 1),
  line(50 + standsMs + pauseMs, stopped, "returns", 1),
];

/** The same with one that waits, and whose handler hears at the end that its task is gone. */
const waiting = (lines: readonly LogLine[]): LogLine[] =>
  lines.flatMap((each) =>
    each.event === "run" ? { ...each, event: "asks" } : each.event === "kept" ? [] : each,
  );

test("others may take the task of a process that stands still for a lease, which then begins no step", () => {
  const lines = log(leaseMs, 4);
  expect(overlappingAttempts(lines, leaseMs)).toEqual([]);
  expect(overlappingAttempts(waiting(lines), leaseMs)).toEqual([]);
  expect(overlappingAttempts([...lines, line(99_999, stopped, "run", 1)], leaseMs)).toEqual([
    "1 went on with attempt 1 of task after 2 had begun the next: run",
  ]);
});

test.each([
  ["stands still for less", log(leaseMs - 1_000, 4), leaseMs],
  ["had the time to say that it lives", log(leaseMs, 2_000), leaseMs],
  ["cannot be considered dead", log(leaseMs, 4), longestStandstillMs("/tasks.db")],
])("nobody may take the task of a process that %s", (_, lines, standstillMs) => {
  expect(overlappingAttempts(lines, standstillMs)).toEqual([
    "2 began task while 1 ran it",
    "1 went on with attempt 1 of task after 2 had begun the next: kept",
    "1 went on with attempt 1 of task after 2 had begun the next: returns",
  ]);
});
