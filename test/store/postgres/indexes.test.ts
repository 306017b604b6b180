import { Pool } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { Database } from "../../../src/store/postgres/database.ts";
import { migrateSchema } from "../../../src/store/postgres/migrate.ts";
import { namesIn, type Names } from "../../../src/store/postgres/names.ts";
import { migrations } from "../../../src/store/postgres/schema.ts";
import { FreshDatabase } from "../../postgres/test-database.ts";
import { bareTasks } from "./bare-tasks.ts";

const ours = ["task_by_lane", "task_by_tool"];

/** A later version, which searches the tasks in another way. */
const known = [
  ...migrations,
  {
    sql: () => "SELECT 1",
    goodFor: 1,
    indexes: ({ task }: Names) => ({
      task_by_lane: `${task} (lane, id) WHERE state = 'queued'`,
      task_by_tool: `${task} (tool, id)`,
    }),
  },
];

/** A database of its own: others may use theirs for long, and an index is made when those who came before have ended. */
async function freshDatabase(): Promise<{ database: Database; names: Names }> {
  const fresh = await FreshDatabase.create();
  const database = new Database(new Pool({ connectionString: fresh.url, max: 2, pipeline: true }), 20_000);
  onTestFinished(async () => {
    await database.close();
    await fresh.drop();
  });
  return { database, names: namesIn("holdfast") };
}

/** The names of the indexes that can be used. */
async function usable(database: Database): Promise<readonly unknown[]> {
  const rows = await database.query(
    `SELECT class.relname FROM pg_index JOIN pg_class AS class ON class.oid = indexrelid
      WHERE indisvalid AND class.relname = ANY($1::text[]) ORDER BY 1`,
    [ours],
  );
  return rows.map(([name]) => name);
}

/** A schema before them, with a task in it. */
async function withTask({ database, names }: { database: Database; names: Names }): Promise<void> {
  await migrateSchema(database, names);
  await database.query(bareTasks(names.task, { id: "'task-a'" }));
}

test("indexes come with a new schema", async () => {
  const { database, names } = await freshDatabase();
  await migrateSchema(database, names, { known });
  expect(await usable(database)).toEqual(ours);
});

test("indexes come to a table that is in use while others write to it", async () => {
  const fresh = await freshDatabase();
  const { database, names } = fresh;
  await withTask(fresh);
  await migrateSchema(database, names, { known: known.map(({ sql, goodFor }) => ({ sql, goodFor })) });
  expect(await usable(database)).toEqual([]);
  const made = migrateSchema(database, names, { known });
  await database.query(`UPDATE ${names.task} SET owner = 'b'`);
  expect(await made).toBe(0);
  expect(await usable(database)).toEqual(ours);
});

test("an index that was left half made is made again", async () => {
  const fresh = await freshDatabase();
  const { database, names } = fresh;
  await withTask(fresh);
  await migrateSchema(database, names, { known });
  await database.query(
    "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'holdfast.task_by_tool'::regclass",
  );
  expect(await usable(database)).not.toContain("task_by_tool");
  await migrateSchema(database, names, { known });
  expect(await usable(database)).toEqual(ours);
});
