import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TaskAttempt } from "../../src/task/attempts.ts";
import { lossText, type Suspicion } from "../../src/task/outcome.ts";
import { crashPause } from "../../src/task/queue.ts";
import { blamedCrashes, crashed, isSuspect, lossesOf } from "../../src/task/suspicion.ts";

const backoff = { baseMs: 1_000, maxMs: 60_000, maxCrashes: 5 };
/** From the end of a process to the start of the next. */
const restartMs = 500;

interface Given {
  readonly arrivesAt: number;
  /** How long each of its steps takes; a poison ends its process in the first one after so long. */
  readonly stepMs: number;
  readonly steps: number;
  readonly isPoison: boolean;
}

interface Task extends Given {
  readonly id: string;
  readonly waiting: false;
  crashes: number;
  suspicion?: Suspicion;
  attempts: TaskAttempt[];
  readyAt: number;
  startedAt: number | null;
  done: number;
  end: "done" | "failed" | null;
}

/** One process after the other, which runs all tasks that may run, and what ends it: a poison, or a kill from outside. */
class World {
  readonly tasks: Task[];
  readonly #kills: number[];
  now = 0;
  crashes = 0;
  /** The most tasks that one crash counted against. */
  mostBlamed = 0;

  constructor(tasks: readonly Given[], kills: readonly number[]) {
    const fresh = { waiting: false, crashes: 0, startedAt: null, done: 0, end: null } as const;
    this.tasks = tasks.map((task, nr) => ({
      ...task,
      ...fresh,
      id: `task-${nr}`,
      attempts: [],
      readyAt: task.arrivesAt,
    }));
    this.#kills = kills.toSorted((a, b) => a - b);
  }

  /** Until all have ended. */
  run(): void {
    while (this.tasks.some(({ end }) => end === null)) {
      if (this.crashes > 500) throw new Error(`This does not end: ${JSON.stringify(this.tasks)}`);
      this.#step();
    }
  }

  #step(): void {
    this.#claim();
    const running = this.tasks.filter(({ startedAt }) => startedAt !== null);
    const ends = running.map(({ startedAt, stepMs }) => (startedAt ?? 0) + stepMs);
    const arrivals = this.tasks.filter((task) => task.end === null && task.readyAt > this.now);
    const next = Math.min(...ends, ...arrivals.map(({ readyAt }) => readyAt));
    const kill = this.#kills[0] ?? Infinity;
    if (next === Infinity) return;
    if (kill <= next) {
      this.#kills.shift();
      if (kill < this.now) return; // nothing ran then
      this.now = kill;
      return this.#crash(running);
    }
    this.now = next;
    const due = running.filter(({ startedAt, stepMs }) => (startedAt ?? 0) + stepMs === next);
    if (due.some(({ isPoison }) => isPoison)) return this.#crash(running);
    for (const task of due) this.#progress(task);
  }

  #claim(): void {
    const inOrder = this.tasks.toSorted((a, b) => a.readyAt - b.readyAt);
    for (const task of inOrder) {
      if (task.end !== null || task.startedAt !== null || task.readyAt > this.now) continue;
      if (blamedCrashes(task) >= backoff.maxCrashes) task.end = "failed";
      else if (
        !isSuspect(task) ||
        !this.tasks.some((other) => other.startedAt !== null && isSuspect(other))
      ) {
        task.startedAt = this.now;
        const number = task.attempts.length + 1;
        task.attempts.push({
          number,
          owner: `${this.crashes}`,
          startedAt: this.now,
          endedAt: null,
          end: null,
        });
      }
    }
  }

  #progress(task: Task): void {
    task.done++;
    task.crashes = 0;
    delete task.suspicion;
    if (task.done < task.steps) task.startedAt = this.now;
    else Object.assign(task, { end: "done", startedAt: null });
  }

  #crash(running: readonly Task[]): void {
    this.crashes++;
    this.now += restartMs;
    const lossOf = lossesOf(running, true);
    const before = running.map(blamedCrashes);
    const losses = running.map((task) => lossOf(task));
    for (const [place, task] of running.entries()) {
      const loss = losses[place];
      if (loss === undefined) continue;
      const { crashes, suspicion } = crashed(task, loss, this.now);
      const attempts = task.attempts.map((each) =>
        each.end === null ? { ...each, end: "lost" as const } : each,
      );
      Object.assign(task, { crashes, suspicion, attempts, startedAt: null });
      const pause = blamedCrashes(task) < backoff.maxCrashes ? crashPause(task.crashes, backoff) : 0;
      task.readyAt = this.now + pause;
    }
    const blamed = running.filter((task, place) => blamedCrashes(task) > (before[place] ?? 0));
    this.mostBlamed = Math.max(this.mostBlamed, blamed.length);
  }
}

const innocent = fc.record({
  arrivesAt: fc.nat(60_000),
  stepMs: fc.integer({ min: 1, max: 120_000 }),
  steps: fc.integer({ min: 1, max: 4 }),
  isPoison: fc.constant(false),
});

const poison = fc.record({
  arrivesAt: fc.nat(60_000),
  stepMs: fc.oneof(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 300_000 })),
  steps: fc.constant(1),
  isPoison: fc.constant(true),
});

describe("a crash", () => {
  it("counts against one task at most, whatever runs and whatever ends its process; and everything ends", () => {
    const tasks = fc.array(fc.oneof(innocent, poison), { minLength: 1, maxLength: 12 });
    const kills = fc.array(fc.nat(600_000), { maxLength: 20 });
    fc.assert(
      fc.property(tasks, kills, (given, times) => {
        const world = new World(given, times);
        world.run();
        expect(world.mostBlamed).toBeLessThan(2);
        for (const { isPoison, end } of world.tasks) if (isPoison) expect(end).toBe("failed");
      }),
    );
  });

  it("of up to two poisons makes no innocent task fail", () => {
    const poisons = fc.array(poison, { minLength: 1, maxLength: 2 });
    fc.assert(
      fc.property(poisons, fc.array(innocent, { maxLength: 12 }), (bad, good) => {
        const world = new World([...bad, ...good], []);
        world.run();
        for (const { isPoison, end } of world.tasks) expect(end).toBe(isPoison ? "failed" : "done");
      }),
    );
  });

  it("from outside makes no task fail that others ran beside, five times in a row", () => {
    const others = fc.array(innocent, { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(others, fc.integer({ min: 1, max: 90_000 }), (good, everyMs) => {
        // One that is there each time, and one that comes anew each time.
        const stays = { arrivesAt: 0, stepMs: 600_000, steps: 1, isPoison: false };
        const kills = [1, 2, 3, 4, 5].map((nr) => 60_000 + nr * everyMs);
        const passing = kills.map((at) => ({ ...stays, arrivesAt: at - 1, stepMs: 2 * restartMs }));
        const world = new World([stays, ...passing, ...good], kills);
        world.run();
        for (const { end } of world.tasks) expect(end).toBe("done");
      }),
    );
  });

  it("is the fifth that a task alone in its process causes, and fails it", () => {
    const world = new World([{ arrivesAt: 0, stepMs: 10, steps: 1, isPoison: true }], []);
    world.run();
    expect([world.crashes, world.tasks[0]?.end]).toEqual([5, "failed"]);
  });

  it("counts against the one that has not got on, beside those that have; the earlier ones that it shared too", () => {
    const working = { arrivesAt: 0, stepMs: 10, steps: 1_000, isPoison: false };
    const world = new World([{ arrivesAt: 0, stepMs: 35, steps: 1, isPoison: true }, working, working], []);
    world.run();
    expect([world.crashes, world.tasks[0]?.end]).toEqual([5, "failed"]);
  });

  it("says why it counts, or not", () => {
    expect(lossText({ blame: "alone", others: 0 })).toBe("The process that ran it is gone.");
    expect(lossText({ blame: "none", others: 1 })).toContain("another task too, so this does not count");
    expect(lossText({ blame: "tried", others: 2 })).toContain("2 other tasks too, but no other");
    expect(lossText({ blame: "alone", others: 2 })).toContain("each of those has made progress");
  });
});
