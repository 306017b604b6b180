import type { PoolConfig } from "pg";
import { HoldfastError } from "../../task/fault.ts";
import { Database } from "./database.ts";
import { messageOf } from "./postgres-error.ts";
import type { QueueLibrary } from "./queue-library.ts";
import { QueuePool } from "./queue-pool.ts";

/** The longest time that it takes, and that others wait for it (ms). */
const migrationMs = 60_000;

/** Creates or upgrades the tables of the queue, one process at a time. Rejects with `store_unusable` if that is impossible. */
export async function migrateQueue(
  library: QueueLibrary,
  schema: string,
  connection: PoolConfig,
): Promise<void> {
  const pgPool = new QueuePool({ ...connection, query_timeout: migrationMs });
  try {
    const transaction = await new Database(pgPool, migrationMs).begin();
    try {
      // The library does not wait for another process that migrates, but fails.
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
    const problem = `The queue's schema ${schema} cannot be created: ${messageOf(error)}.`;
    throw new HoldfastError("store_unusable", problem, { cause: error });
  } finally {
    await pgPool.end();
  }
}

/** A role that may not create schemas can be given one. The library only recognises it as its own once it contains its first table. */
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
