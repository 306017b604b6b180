import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createRecord } from "../../src/task/record-changes.ts";
import type { TaskRecord } from "../../src/task/record.ts";
import { deletableAt, keptFrom, shownTask } from "../../src/task/expiry.ts";
import { createQueued, noon, owner } from "../../src/testing/sample-task.ts";

const day = 24 * 3_600_000;

function unfinished(members: Partial<TaskRecord> = {}): TaskRecord {
  return { ...createRecord(createQueued("a", { expiry: { from: "terminal", ms: day } }), owner), ...members };
}

/** The ttl, and when it changed last, that clients see at an age. */
function shownAt(age: number, members: Partial<TaskRecord> = {}): readonly [number | null, number] {
  const { expiry, updatedAt } = shownTask(unfinished(members), noon + age);
  return [expiry.ms, updatedAt - noon];
}

function ended(age: number, members: Partial<TaskRecord> = {}): TaskRecord {
  const task = unfinished(members);
  const finishedAt = noon + age;
  const sweepAt = deletableAt(task, finishedAt);
  return { ...task, state: "settled", finishedAt, updatedAt: finishedAt, sweepAt };
}

describe("the ttl that clients see of an unfinished task without one", () => {
  test("begins with the time for which it will be kept, and grows by it when less than half of it is left", () => {
    expect(shownAt(0)).toEqual([day, 0]);
    expect(shownAt(day / 2)).toEqual([day, 0]);
    expect(shownAt(day / 2 + 1)).toEqual([2 * day, day / 2 + 1]);
    expect(shownAt(1.5 * day)).toEqual([2 * day, day / 2 + 1]);
    expect(shownAt(1.5 * day + 1)).toEqual([3 * day, 1.5 * day + 1]);
    expect(shownAt(60 * day)).toEqual([61 * day, 59.5 * day + 1]);
  });

  test("has as its last change the later of its own and the task's [A-44]", () => {
    expect(shownAt(day, { updatedAt: noon + 0.75 * day })).toEqual([2 * day, 0.75 * day]);
  });

  test("goes no further than the task can live, nor below the time for which it will be kept", () => {
    expect(shownAt(9 * day, { runUntil: noon + 9.25 * day })).toEqual([9.25 * day, 8.5 * day + 1]);
    expect(shownAt(9.25 * day, { runUntil: noon + 9.25 * day })).toEqual([9.25 * day, 8.5 * day + 1]);
    expect(shownAt(0, { runUntil: noon + 1_000 })).toEqual([day, 0]);
  });

  test("does not go back with a clock that is set back behind the last change", () => {
    expect(shownAt(-5 * day, { updatedAt: noon + 0.6 * day })).toEqual([2 * day, 0.6 * day]);
  });

  test("is there where nothing is kept", () => {
    expect(shownAt(7, { expiry: { from: "terminal", ms: 0 } })[0]).toBe(8);
  });

  test.each<Partial<TaskRecord>>([
    { generation: "sep-1686" },
    { generation: "plain" },
    { expiry: { from: "created", ms: 5 } },
    { expiry: { from: "terminal", ms: null } },
  ])("is that of the record for %j", (members) => {
    const task = unfinished(members);
    expect(shownTask(task, noon + 9 * day)).toBe(task);
  });
});

describe("how long a task is kept, counted from its creation and from its end", () => {
  const both = (task: TaskRecord): unknown[] => [keptFrom("created", task), keptFrom("terminal", task)];

  test("is exact for a finished task", () => {
    expect(both(ended(10_000, { generation: "sep-1686" }))).toEqual([day + 10_000, day]);
    expect(both(ended(10_000, { expiry: { from: "created", ms: day } }))).toEqual([day, day - 10_000]);
  });

  test("is not too long for an unfinished one, and never below 0", () => {
    const updatedAt = noon + 10_000;
    expect(both(unfinished({ updatedAt }))).toEqual([day + 10_000, day]);
    expect(both(unfinished({ updatedAt, expiry: { from: "created", ms: day } }))).toEqual([
      day,
      day - 10_000,
    ]);
    expect(both(unfinished({ updatedAt, expiry: { from: "created", ms: 5 } }))).toEqual([5, 0]);
  });

  test("has no end where the task has none", () => {
    expect(both(unfinished({ expiry: { from: "terminal", ms: null } }))).toEqual([null, null]);
  });
});

describe("a finished task", () => {
  test("shows its age and the time for which it is kept, and is deleted then", () => {
    const task = ended(10_000);
    expect(task.sweepAt).toBe(noon + 10_000 + day);
    expect(shownTask(task, noon + 20_000)).toEqual({
      ...task,
      expiry: { from: "created", ms: 10_000 + day },
    });
  });

  test("is kept until the ttl is over that its clients saw before [X-P-020]", () => {
    expect(ended(0.6 * day).sweepAt).toBe(noon + 2 * day);
    expect(ended(0.6 * day, { generation: "sep-1686" }).sweepAt).toBe(noon + 1.6 * day);
  });

  test("shows no ttl that ends after the last time that can be stored, nor shrinks to that at its end", () => {
    const members = { expiry: { from: "terminal", ms: Number.MAX_SAFE_INTEGER } } as const;
    const [ttlMs] = shownAt(0, members);
    expect(ttlMs).toBe(8.64e15 - noon);
    expect(shownTask(ended(20, members), noon + 20).expiry.ms).toBe(ttlMs);
  });

  test("ends with a ttl from creation, however late it ended", () => {
    expect(deletableAt(unfinished({ expiry: { from: "created", ms: 50 } }), noon + 20)).toBe(noon + 50);
  });

  test("is kept for good without an end of its expiry", () => {
    for (const from of ["created", "terminal"] as const) {
      const task = ended(9, { expiry: { from, ms: null } });
      expect(task.sweepAt).toBeNull();
      expect(shownTask(task, noon + day).expiry.ms).toBeNull();
    }
  });

  test("may be kept for no time at all", () => {
    expect(ended(20, { generation: "plain", expiry: { from: "terminal", ms: 0 } }).sweepAt).toBe(noon + 20);
  });
});

const atMost = fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 400 * day }));

test("no ttl shrinks from one look to the next, nor at the end of its task, and no more is seen than holds", () => {
  fc.assert(
    fc.property(
      atMost,
      fc.array(atMost, { minLength: 1, maxLength: 9 }),
      fc.option(atMost),
      fc.constantFrom("2025-11-25" as const, "2026-07-28" as const),
      (ms, ages, runMs, generation) => {
        const expiry = { from: "terminal", ms } as const;
        const members = { expiry, generation, runUntil: runMs === null ? null : noon + runMs };
        ages.sort((a, b) => a - b);
        const seen = ages.map((age) => Number(shownAt(age, members)[0]));
        const last = ages.at(-1) ?? 0;
        const end = ended(last, members);
        seen.push(Number(shownTask(end, noon + last).expiry.ms));
        expect(seen).toEqual(seen.toSorted((a, b) => a - b));
        expect(end.sweepAt).toBe(noon + (seen.at(-1) ?? 0));
        expect(end.sweepAt).toBeGreaterThanOrEqual(noon + last + ms);
        for (const age of ages) expect(shownAt(age, members)[1]).toBeLessThanOrEqual(age);
      },
    ),
  );
});
