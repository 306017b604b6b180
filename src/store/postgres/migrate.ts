import { HoldfastError } from "../../task/fault.ts";
import type { Database, Transaction } from "./database.ts";
import { tasks } from "./migrations/0001-tasks.ts";
import type { Names } from "./names.ts";
import { messageOf, sqlState } from "./postgres-error.ts";
import type { Row } from "../row.ts";

/** A change of the schema. */
export interface Migration {
  readonly sql: (names: Names) => string;
  /** The oldest schema whose processes can go on with what it makes. */
  readonly goodFor: number;
}

/** In order: a schema has the number of those that it went through. */
export const migrations: readonly Migration[] = [{ sql: tasks, goodFor: 1 }];

/** The schema of a database, and the oldest one whose processes it serves; 0 for one without tasks. */
interface SchemaVersion {
  readonly version: number;
  readonly goodFor: number;
}

/** Brings a schema up to date, if `migrates`; rejects with `store_unusable` where that is needed and not allowed, or where the schema is too new. */
export async function prepareSchema(
  database: Database,
  names: Names,
  migrates: boolean,
  known: readonly Migration[] = migrations,
): Promise<void> {
  const found = await versionOf(database, names);
  if (found.version < known.length) {
    if (!migrates) throw behind(names, found.version, known.length);
    await migrateSchema(database, names, known);
  } else if (found.goodFor > known.length) throw ahead(names, found);
}

/** Brings a schema up to date, one process at a time, each migration whole or not at all; resolves with the number of migrations that it made. */
export async function migrateSchema(
  database: Database,
  names: Names,
  known: readonly Migration[] = migrations,
): Promise<number> {
  for (let made = 0; ; made++) {
    const transaction = await database.begin();
    try {
      await transaction.query("SET LOCAL lock_timeout = 0");
      await transaction.query("SET LOCAL statement_timeout = 0");
      await transaction.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [
        `${names.schema} migration`,
      ]);
      const { version } = await versionOf(transaction, names);
      const next = known[version];
      if (next === undefined) {
        await transaction.rollback();
        return made;
      }
      await apply(transaction, names, version, next);
      await transaction.commit();
    } catch (error) {
      await transaction.rollback();
      throw unusable(names, error);
    }
  }
}

async function apply(
  transaction: Transaction,
  names: Names,
  version: number,
  next: Migration,
): Promise<void> {
  if (version === 0) {
    // A role that may not make schemas can be given one.
    const [schema] = await transaction.query("SELECT 1 FROM pg_namespace WHERE nspname = $1", [names.schema]);
    if (schema === undefined) await transaction.query(`CREATE SCHEMA ${names.quoted}`);
    await transaction.query(`
      CREATE TABLE ${names.migration} (
        version integer PRIMARY KEY, good_for integer NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp())`);
  }
  for (const statement of next.sql(names).split(/;\s*\n/)) {
    if (statement.trim() !== "") await transaction.query(statement);
  }
  await transaction.query(`INSERT INTO ${names.migration} (version, good_for) VALUES ($1, $2)`, [
    version + 1,
    next.goodFor,
  ]);
}

async function versionOf(queries: Pick<Database, "query">, names: Names): Promise<SchemaVersion> {
  // Not to_regclass: in a transaction that waited for a lock, it does not see what others made meanwhile.
  const [there] = await queries.query(
    "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = 'migration'",
    [names.schema],
  );
  if (there === undefined) return { version: 0, goodFor: 0 };
  const [row]: (Row | undefined)[] = await queries.query(
    `SELECT version, good_for FROM ${names.migration} ORDER BY version DESC LIMIT 1`,
  );
  return { version: Number(row?.[0] ?? 0), goodFor: Number(row?.[1] ?? 0) };
}

function behind({ schema }: Names, version: number, wanted: number): HoldfastError {
  return new HoldfastError(
    "store_unusable",
    `Schema ${schema} of the database has version ${version}, and this process needs ${wanted}. Run "holdfast migrate", or set migrate to true.`,
  );
}

function ahead({ schema }: Names, { version, goodFor }: SchemaVersion): HoldfastError {
  return new HoldfastError(
    "store_unusable",
    `Schema ${schema} of the database has version ${version}, which only processes of version ${goodFor} and later can use. Upgrade this one.`,
  );
}

function unusable({ schema }: Names, error: unknown): HoldfastError {
  if (error instanceof HoldfastError) return error;
  const cannot = sqlState(error) === "42501" ? "may not be migrated by this role" : "cannot be migrated";
  return new HoldfastError("store_unusable", `Schema ${schema} ${cannot}: ${messageOf(error)}.`, {
    cause: error,
  });
}
