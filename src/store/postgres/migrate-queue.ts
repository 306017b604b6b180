import type { PoolConfig } from "pg";
import { HoldfastError } from "../../task/fault.ts";
import { Database } from "./database.ts";
import { messageOf } from "./postgres-error.ts";
import type { QueueLibrary } from "./queue-library.ts";
import { QueuePool } from "./queue-pool.ts";

/** The longest that it takes, and that others wait for it (ms). */
const migrationMs = 60_000;

/** Makes the tables of the queue, or brings them up to date, one process at a time. Rejects with `store_unusable` where that cannot be done. */
export async function migrateQueue(
  library: QueueLibrary,
  schema: string,
  connection: PoolConfig,
): Promise<void> {
  const pgPool = new QueuePool({ ...connection, query_timeout: migrationMs });
  try {
    const transaction = await new Database(pgPool, migrationMs).begin();
    try {
      // The library has nobody wait while another process migrates, and fails then.
      await transaction.query(`SET LOCAL lock_timeout = ${migrationMs}`);
      await transaction.query(`SET LOCAL idle_in_transaction_session_timeout = ${migrationMs}`);
      await transaction.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [
        `${schema} migration`,
      ]);
      await useGiven(pgPool, schema);
      const logger = new library.Logger(() => () => undefined);
      await library.runMigrations({ schema, pgPool, logger });
    } finally {
      await transaction.rollback();
    }
  } catch (error) {
    const problem = `The queue's schema ${schema} cannot be made: ${messageOf(error)}.`;
    throw new HoldfastError("store_unusable", problem, { cause: error });
  } finally {
    await pgPool.end();
  }
}

/** A role that may not make schemas can be given one, which the library takes for its own only with its first table in it. */
async function useGiven(pool: QueuePool, schema: string): Promise<void> {
  const { rowCount } = await pool.query(
    `SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1 AND NOT EXISTS (
      SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = 'migrations')`,
    [schema],
  );
  if (rowCount === 0) return;
  await pool.query(
    `CREATE TABLE "${schema}".migrations (
      id integer PRIMARY KEY, ts timestamptz NOT NULL DEFAULT now(), breaking boolean NOT NULL DEFAULT false)`,
  );
}
