import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { GroupWriter } from "../../../src/store/sqlite/group-writer.ts";
import { migrate } from "../../../src/store/sqlite/migrate.ts";
import { taskColumns } from "../../../src/store/sqlite/record-row.ts";
import { OwnerWrites, SqliteOwners } from "../../../src/store/sqlite/sqlite-owners.ts";
import { SqliteQueue } from "../../../src/store/sqlite/sqlite-queue.ts";
import { aHandler, createQueued, noHandler, noon, owner } from "../../../src/testing/sample-task.ts";

const other = "other";
const many = 100_000;

/** The queue of `owner` in a database where another one, and a tool that `owner` has not, wait for `waiting` tasks each. */
function queueBeside(waiting: number) {
  const db = new DatabaseSync(":memory:");
  migrate(db);
  const owners = new OwnerWrites(db);
  for (const id of [owner, other]) owners.add({ id, handlers: [aHandler] });
  new GroupWriter(db, ":memory:", other).commit([createQueued("other")]);
  const writer = new GroupWriter(db, ":memory:", owner);
  writer.commit([createQueued("none", { tool: noHandler.tool })]);
  const copied = taskColumns.map((name) => (name === "id" || name === "wire_id" ? `${name} || n` : name));
  db.prepare(
    `WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?)
    INSERT INTO task (${taskColumns.join(", ")}) SELECT ${copied.join(", ")} FROM task, number`,
  ).run(waiting - 1);
  return { db, writer, queue: new SqliteQueue(db), owners: new SqliteOwners(db) };
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

test.each<[what: string, run: (given: ReturnType<typeof queueBeside>) => unknown]>([
  [
    "to look for something to claim",
    ({ queue, owners }) => queue.claimableAt([aHandler], owners.mayTake(owner)),
  ],
  [
    "to claim a new task",
    ({ db, writer }) => {
      const claim = { type: "claim", now: noon, handlers: [aHandler], tokens: ["c1"] } as const;
      const { answers } = writer.commit([createQueued("new"), claim]);
      expect(answers[1]).toMatchObject({ result: { tasks: [{ id: "task-new" }] } });
      for (const table of ["task", "request"]) {
        db.exec(`DELETE FROM ${table} WHERE ${table === "task" ? "id" : "task_id"} = 'task-new'`);
      }
    },
  ],
  ["to find out what has no handler", ({ queue }) => queue.handlers()],
  ["to find tasks without a handler", ({ queue }) => queue.ids(noHandler, 10)],
])("%s takes no longer beside 100,000 that are queued for another owner, or for no tool", (_, run) => {
  const [few = 0, lots = 0] = beside.map((given) => shortest(() => run(given)));
  // A scan takes several hundred times as long.
  expect(lots / few).toBeLessThan(10);
});
