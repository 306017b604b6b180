import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { GroupWriter } from "../../../src/store/sqlite/group-writer.ts";
import { migrate } from "../../../src/store/sqlite/schema.ts";
import { recordColumns } from "../../../src/store/tables/task.ts";
import { OwnerWrites, SqliteOwners } from "../../../src/store/sqlite/sqlite-owners.ts";
import { Statements } from "../../../src/store/sqlite/statements.ts";
import { SqliteQueue } from "../../../src/store/sqlite/sqlite-queue.ts";
import type { TaskCommand } from "../../../src/task/command.ts";
import { latestTime } from "../../../src/task/time.ts";
import { noTurns } from "../../../src/task/queue.ts";
import {
  aHandler,
  createQueued,
  createRunning,
  noHandler,
  noon,
  owner,
} from "../../../src/testing/sample-task.ts";

const other = "other";
const many = 20_000;
/** When the first of the tasks wakes that are parked. */
const later = noon + 1_000;

/** A task that is parked until a time, with a question. */
function park(name: string, runAfter: number): TaskCommand[] {
  const held = { now: noon, id: `task-${name}`, token: "t1" } as const;
  const input = { key: "q", method: "roots/list", params: "{}" } as const;
  const asked = { input, requestHash: "hash", deadlineAt: runAfter, rest: { runAfter, open: 1 } };
  return [createRunning(name), { ...held, type: "open_input", ...asked }, { ...held, type: "park" }];
}

/**
 * The queue of `owner` in a database where `waiting` tasks each wait for another one, for a tool that `owner` has not, for a
 * time, and for answers alone.
 */
function queueBeside(waiting: number) {
  const db = new DatabaseSync(":memory:");
  migrate(db);
  const statements = new Statements(db);
  const owners = new OwnerWrites(statements);
  for (const id of [owner, other]) owners.add({ id, handlers: [aHandler] });
  new GroupWriter(statements, ":memory:", other, () => false).commit([createQueued("other")]);
  const writer = new GroupWriter(statements, ":memory:", owner, () => false);
  writer.commit([createQueued("none", { tool: noHandler.tool })]);
  writer.commit([...park("timed", later), ...park("endless", latestTime)]);
  const copied = recordColumns.map((name) => (name === "id" || name === "wire_id" ? `${name} || n` : name));
  db.prepare(
    `WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?)
    INSERT INTO task (${recordColumns.join(", ")}) SELECT ${copied.join(", ")} FROM task, number`,
  ).run(waiting - 1);
  return { db, writer, queue: new SqliteQueue(statements), owners: new SqliteOwners(statements) };
}

let beside: readonly ReturnType<typeof queueBeside>[];
beforeAll(() => {
  beside = [queueBeside(2), queueBeside(many)];
});
afterAll(() => {
  for (const { db } of beside) db.close();
});

/** The shortest time of many, which other work on the machine does not make longer. */
function shortest(run: () => unknown): number {
  let least = Infinity;
  for (let round = 0; round < 300; round++) {
    const before = performance.now();
    run();
    least = Math.min(least, performance.now() - before);
  }
  return least;
}

/** The task that a round made. */
function forget(db: DatabaseSync): void {
  db.exec("DELETE FROM task WHERE id = 'task-new'");
  for (const table of ["request", "journal"]) db.exec(`DELETE FROM ${table} WHERE task_id = 'task-new'`);
}

test.each<[what: string, run: (given: ReturnType<typeof queueBeside>) => unknown]>([
  [
    "to look for something to claim",
    ({ queue, owners }) => {
      const look = { handlers: [aHandler], turns: noTurns, limit: 1 };
      expect(queue.runnable(look, owners.mayTake(owner)).tasks).toEqual([]);
    },
  ],
  [
    "to claim a new task",
    ({ db, writer }) => {
      const claim = { type: "claim", now: noon, handlers: [aHandler], tokens: ["c1"] } as const;
      const { answers } = writer.commit([createQueued("new"), claim]);
      expect(answers[1]).toMatchObject({ result: { tasks: [{ id: "task-new" }] } });
      forget(db);
    },
  ],
  [
    "to wake a task",
    ({ db, writer }) => {
      const wake = { type: "wake", now: noon + 5, limit: 9 } as const;
      const { answers } = writer.commit([...park("new", noon + 5), wake]);
      expect(answers.at(-1)).toMatchObject({ result: { woken: 1 } });
      forget(db);
    },
  ],
  ["to look for something to wake", ({ queue }) => expect(queue.toWake(noon, 9).tasks).toEqual([])],
  ["to find the next time to wake one", ({ queue }) => expect(queue.nextWakeAt(noon)).toBe(later)],
  ["to find that no later time wakes one", ({ queue }) => expect(queue.nextWakeAt(later)).toBeNull()],
  ["to find out what has no handler", ({ queue }) => queue.handlers()],
])(
  "%s takes no longer beside 20,000 that are queued for another owner, for no tool, for a time or for an answer",
  (_, run) => {
    const [few = 0, lots = 0] = beside.map((given) => shortest(() => run(given)));
    // A scan takes several hundred times as long.
    expect(lots / few).toBeLessThan(10);
  },
);
