import { expect, test } from "vitest";
import type { SqlValue } from "../../../src/store/postgres/database.ts";
import type { Names } from "../../../src/store/postgres/names.ts";
import { sessionStatements } from "../../../src/store/postgres/postgres-messages.ts";
import { factStatements } from "../../../src/store/postgres/task-sql.ts";
import { someSchema } from "./some-database.ts";
import { bareTasks } from "./bare-tasks.ts";

const ids = ["1", "2", "3", "child-1", "child-2"];

/** Statements that wait for rows which others change, the change, and the rows that they come back with, or change. */
interface Wait {
  readonly sql: (names: Names) => string;
  readonly values: readonly SqlValue[];
  readonly change: (names: Names) => string;
  readonly found: readonly string[];
}

const changeTasks = ({ task }: Names): string => `UPDATE ${task} SET state = 'queued'`;
const changeSessions = ({ session }: Names): string => `UPDATE ${session} SET state = 'changed'`;

const waits: Readonly<Record<string, Wait>> = {
  "tasks and what is above them": {
    sql: (names) => factStatements(names).lockTasks,
    values: [["3", "child-1"], ["child-1"]],
    change: changeTasks,
    found: ["1", "2", "3", "child-1"],
  },
  "the tasks below a task": {
    sql: (names) => factStatements(names).lockChildren,
    values: [["1"]],
    change: changeTasks,
    found: ["child-1", "child-2"],
  },
  "sessions to be extended": {
    sql: (names) => `${sessionStatements(names).extend} RETURNING session.id`,
    values: [ids, ids.map(() => 10)],
    change: changeSessions,
    found: ids,
  },
  "sessions to be deleted": {
    sql: (names) => sessionStatements(names).delete,
    values: [ids, "owner"],
    change: changeSessions,
    found: ids,
  },
  "sessions to be deleted that end": {
    sql: (names) => sessionStatements(names).deleteUnextended,
    values: [ids, ids.map(() => 10), "owner"],
    change: changeSessions,
    found: ids,
  },
};

test.each(Object.entries(waits))("misses no rows that are changed meanwhile: %s", async (_, wait) => {
  const schema = await someSchema();
  const { names } = schema;
  const database = schema.connect();
  await database.query(
    bareTasks(
      names.task,
      { id: "id", state: "'running'" },
      "FROM unnest($1::text[] || ARRAY(SELECT 'other-' || each FROM generate_series(1, 2000) AS each)) AS id",
    ),
    [ids],
  );
  await database.query(
    `INSERT INTO ${names.child} (id, parent, root, key) VALUES ('child-1', '1', '2', 'k'), ('child-2', '1', '2', 'l')`,
  );
  await database.query(
    `INSERT INTO ${names.session} (id, expires_at, state)
     SELECT id, 5, '' FROM unnest($1::text[] || ARRAY(SELECT 'other-' || each FROM generate_series(1, 2000) AS each)) AS id`,
    [ids],
  );
  for (const table of [names.task, names.child, names.session]) await database.query(`ANALYZE ${table}`);

  const other = await schema.connect().begin();
  await other.query(wait.change(names));
  const waiting = await schema.connect().begin();
  const [[pid = null] = []] = await waiting.query("SELECT pg_backend_pid()");
  const found = waiting.query(wait.sql(names), wait.values);
  const waitsNow = (): Promise<unknown> =>
    database.query("SELECT wait_event_type FROM pg_stat_activity WHERE pid = $1", [Number(pid)]);
  await expect.poll(waitsNow).toEqual([["Lock"]]);
  await other.commit();
  expect((await found).map(([id]) => String(id)).toSorted()).toEqual(wait.found);
  await waiting.rollback();
});
