import { expect, onTestFinished, test } from "vitest";
import { openDatabase } from "../../../src/store/postgres/connections.ts";
import type { Database } from "../../../src/store/postgres/database.ts";
import { isWorthRepeating } from "../../../src/store/postgres/postgres-error.ts";
import { PgBouncer } from "../../postgres/pgbouncer.ts";
import { sharedDatabase } from "../../postgres/test-database.ts";

async function open(url: string, prepares?: boolean): Promise<Database> {
  const database = await openDatabase({ url, max: 1, timeoutMs: 10_000, prepares });
  onTestFinished(() => database.close());
  return database;
}

const add = "SELECT $1::int + $2::int";

/** The statements that a connection keeps, and how often they were run. */
const kept = (database: Database): Promise<unknown[]> =>
  database.query(
    "SELECT statement, (generic_plans + custom_plans)::int FROM pg_prepared_statements WHERE statement NOT LIKE '%pg\\_%'",
  );

test("a connection to the server keeps a statement, in and outside of transactions", async () => {
  const database = await open(await sharedDatabase());
  expect(await database.query(add, [1, 2])).toEqual([[3]]);
  const transaction = await database.begin();
  const [one, other] = [transaction.query(add, [2, 2]), transaction.query(add, [3, 2])];
  expect([await one, await other]).toEqual([[[4]], [[5]]]);
  await transaction.commit();
  expect(await kept(database)).toEqual([[add, 3]]);
});

test("statements are planned anew when much was written, and the old ones are given up", async () => {
  const database = await open(await sharedDatabase());
  await database.query(add, [1, 2]);
  database.wrote(63);
  await database.query(add, [1, 2]);
  expect(await kept(database)).toEqual([[add, 2]]);
  database.wrote(1);
  expect(await kept(database)).toEqual([]);
  await database.query(add, [1, 2]);
  expect(await kept(database)).toEqual([[add, 1]]);
});

test("a transaction during which names change keeps nothing that its connection gives up afterwards", async () => {
  const database = await open(await sharedDatabase());
  const transaction = await database.begin();
  database.wrote(64);
  expect(await transaction.query(add, [1, 2])).toEqual([[3]]);
  await transaction.commit();
  expect(await database.query(add, [1, 2])).toEqual([[3]]);
  expect(await database.query(add, [2, 2])).toEqual([[4]]);
  expect(await kept(database)).toEqual([[add, 2]]);
});

test("where a connection has lost its statements, another one takes its place", async () => {
  const database = await open(await sharedDatabase());
  const loseStatements = async (): Promise<void> => {
    await database.query(add, [1, 2]);
    await database.query("DEALLOCATE ALL");
  };
  await loseStatements();
  expect(await database.query(add, [1, 2])).toEqual([[3]]);
  await loseStatements();
  expect(await database.read(add, [1, 2])).toEqual([[3]]);
  await loseStatements();
  const transaction = await database.begin();
  void transaction.query(add, [1, 2]);
  const failure: unknown = await transaction.commit().then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(isWorthRepeating(failure)).toBe(true);
  expect(await database.query(add, [1, 2])).toEqual([[3]]);
});

test("nothing is kept where that is not wanted", async () => {
  const database = await open(await sharedDatabase(), false);
  await database.query(add, [1, 2]);
  expect(await kept(database)).toEqual([]);
});

test(
  "a connection to a pooler keeps none by itself, nor limits that others would get",
  { timeout: 200_000 },
  async ({ skip }) => {
    const pool = await PgBouncer.start(await sharedDatabase(), { poolSize: 1 });
    if (typeof pool === "string") return skip(pool);
    onTestFinished(() => pool.end());
    const database = await open(pool.url);
    await database.query(add, [1, 2]);
    expect(await kept(database)).toEqual([]);
    const limit = "SELECT current_setting('lock_timeout')";
    expect(await database.query(limit)).toEqual([["0"]]);
    const transaction = await database.begin();
    expect(await transaction.query(limit)).toEqual([["2s"]]);
    await transaction.rollback();
  },
);
