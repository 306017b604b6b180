import { describe, expect, it } from "vitest";
import { rowsOf, type Drawn } from "../../dashboard/src/pages/task/timeline/timeline-rows.ts";
import { axisOf, barOf } from "../../dashboard/src/pages/task/timeline/waterfall.ts";

const created = 1_800_000_000_000;

const task: Drawn = {
  createdAt: created,
  startedAt: created,
  finishedAt: null,
  cancelRequestedAt: null,
  attempts: [],
  timeline: [],
  deliveries: [],
};

const told = { seq: 1, taskId: "a", tool: "work", failedAt: created + 100 };

const attempt = { number: 1, owner: "node-a", startedAt: created, endedAt: null, end: null };

const entry = {
  key: "read",
  kind: "step",
  method: null,
  begunAt: created,
  doneAt: null,
  durationMs: null,
  tries: 0,
  until: null,
  error: null,
  childId: null,
} as const;

describe("the rows of a timeline", () => {
  it("come in the order in which what they show began, attempts first", () => {
    const rows = rowsOf({
      ...task,
      startedAt: created + 5,
      finishedAt: created + 100,
      attempts: [
        { ...attempt, startedAt: created + 5, endedAt: created + 20, end: "lost", error: "gone" },
        { ...attempt, number: 2, startedAt: created + 30, endedAt: created + 100, end: "settled" },
      ],
      timeline: [
        { ...entry, begunAt: created + 5, doneAt: created + 10 },
        { ...entry, key: "may I", kind: "input", begunAt: created + 40, doneAt: created + 60 },
      ],
      cancelRequestedAt: created + 50,
      deliveries: [
        {
          ...told,
          webhook: "ops",
          event: "completed",
          at: created + 100,
          tries: 2,
          nextAt: null,
          problem: "500",
        },
      ],
    });
    expect(rows.map(({ name, state }) => `${name}: ${state}`)).toEqual([
      "Queue: waited",
      "Attempt 1: interrupted: its process is gone",
      "read: done",
      "Attempt 2: completed",
      "may I: answered",
      "Cancel: requested",
      "ops: completed: given up",
    ]);
    expect(rows.map(({ isFailed }) => isFailed)).toEqual([false, true, false, false, false, false, true]);
  });

  it("tell how often a step was tried, when it is tried next, and what it failed with", () => {
    const [row] = rowsOf({
      ...task,
      timeline: [{ ...entry, tries: 2, until: created + 9_000, error: "No such host" }],
    });
    expect(row).toMatchObject({
      state: "failed, will be retried",
      notes: ["retried 2 times"],
      until: created + 9_000,
      error: "No such host",
      to: null,
    });
  });

  it("end with the task, whoever did not say that they ended", () => {
    const rows = rowsOf({ ...task, finishedAt: created + 70, attempts: [attempt], timeline: [entry] });
    expect(rows.map(({ to, state }) => [to, state])).toEqual([
      [created + 70, "ended"],
      [created + 70, "unfinished"],
    ]);
  });

  it("say of an attempt that failed whether it was retried yet", () => {
    const failed = { ...attempt, endedAt: created + 5, end: "retried" } as const;
    const stateIn = (attempts: Drawn["attempts"]) => rowsOf({ ...task, attempts })[0]?.state;
    expect(stateIn([failed])).toBe("failed, will be retried");
    expect(stateIn([failed, { ...attempt, number: 2, startedAt: created + 9 }])).toBe("failed, then retried");
  });

  it("say which attempts are not kept", () => {
    const later = { ...attempt, number: 9, startedAt: created + 90 };
    const rows = rowsOf({ ...task, attempts: [{ ...attempt, endedAt: created + 1, end: "retried" }, later] });
    expect(rows.map(({ name }) => name)).toEqual(["Attempt 1", "Attempts 2 to 8", "Attempt 9"]);
  });

  it("stay behind what they came after where nobody knows their time", () => {
    const unknown = { ...entry, key: "old", begunAt: null };
    const rows = rowsOf({
      ...task,
      timeline: [
        { ...entry, begunAt: created + 10 },
        unknown,
        { ...entry, key: "next", begunAt: created + 20 },
      ],
    });
    expect(rows.map(({ name }) => name)).toEqual(["read", "old", "next"]);
  });
});

describe("the axis of a timeline", () => {
  it.each([
    [10, ["0 ms", "2 ms", "4 ms", "6 ms", "8 ms", "10 ms"]],
    [4_200, ["0 s", "1 s", "2 s", "3 s", "4 s"]],
    [100_000, ["0 s", "30 s", "60 s", "90 s"]],
    [5 * 3_600_000, ["0 h", "1 h", "2 h", "3 h", "4 h", "5 h"]],
    [10 * 86_400_000, ["0 d", "2 d", "4 d", "6 d", "8 d", "10 d"]],
    [100_000 * 86_400_000, undefined],
  ])("has few ticks that people can read over %d ms", (span, texts) => {
    const rows = rowsOf({ ...task, finishedAt: created + span, attempts: [attempt] });
    const { ticks } = axisOf(rows, created, 0);
    if (texts !== undefined) expect(ticks.map(({ text }) => text)).toEqual(texts);
    expect(ticks.length).toBeLessThanOrEqual(7);
    expect(Math.max(...ticks.map(({ left }) => left))).toBeLessThanOrEqual(100);
  });

  it("has room for what takes no time", () => {
    const { from, to } = axisOf([], created, 0);
    expect(to).toBeGreaterThan(from);
  });
});

describe("the bars of a timeline", () => {
  it("lie where their time is", () => {
    const rows = rowsOf({
      ...task,
      finishedAt: created + 100,
      attempts: [{ ...attempt, endedAt: created + 100, end: "settled" }],
      timeline: [{ ...entry, begunAt: created + 25, doneAt: created + 75 }],
    });
    const axis = axisOf(rows, created, 0);
    expect(rows.map((row) => barOf(row, axis))).toEqual([
      { left: 0, width: 100, isMark: false, isOpen: false },
      { left: 25, width: 50, isMark: false, isOpen: false },
    ]);
  });

  it("grow with the time while they go on, and never backwards for a clock that is behind", () => {
    const rows = rowsOf({ ...task, timeline: [{ ...entry, begunAt: created + 50 }] });
    const [row] = rows;
    if (row === undefined) throw new Error("There is a row.");
    const behind = axisOf(rows, created, created - 60_000);
    expect(barOf(row, behind)).toEqual({ left: 100, width: 0, isMark: false, isOpen: true });
    const later = axisOf(rows, created, created + 200);
    expect(barOf(row, later)).toEqual({ left: 25, width: 75, isMark: false, isOpen: true });
  });

  it("are marks for what was at one time", () => {
    const rows = rowsOf({ ...task, finishedAt: created + 100, cancelRequestedAt: created + 50 });
    const axis = axisOf(
      [...rows, ...rowsOf({ ...task, finishedAt: created + 100, attempts: [attempt] })],
      created,
      0,
    );
    expect(rows.map((row) => barOf(row, axis))).toEqual([
      { left: 50, width: 0, isMark: true, isOpen: false },
    ]);
  });
});
