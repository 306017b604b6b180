import { setTimeout as pause } from "node:timers/promises";
import { HoldfastError } from "../../task/fault.ts";
import type { Database, Queries, Transaction } from "./database.ts";
import { otherTables } from "../load-mark.ts";
import { columnsOfTables, makeOnEmptyTable, makeWhileInUse, type Migration, migrations } from "./schema.ts";
import { defaultSchema, type Names, namesIn } from "./names.ts";
import { isWorthRepeating, messageOf, sqlState } from "./postgres-error.ts";
import { assertSuitable } from "./suitable.ts";
import { assertOptionNames, type OptionNames } from "../../task/option-names.ts";
import { openDatabase, unusableAt, withPatience } from "./connections.ts";

/** A schema's migrations, and the oldest version whose processes can use it; 0 for one without tasks. */
export interface SchemaVersion {
  readonly version: number;
  readonly goodFor: number;
}

/** How long a migration waits for a lock at a time (ms): everyone after it waits behind it. */
const lockTimeoutMs = 1_000;
/** How long it tries to get its locks (ms). */
const patienceMs = 60_000;

export interface MigrateSetup {
  readonly known?: readonly Migration[];
  readonly patienceMs?: number;
}

/**
 * Upgrades a schema if it needs that and `migrate` allows it. Rejects with `store_unusable` if it is not allowed, and if the schema is too
 * new.
 */
export async function prepareSchema(
  database: Queries,
  names: Names,
  migrate: (() => Promise<unknown>) | undefined,
  known: readonly Migration[] = migrations,
): Promise<void> {
  const { version } = await usableVersion(database, names, known);
  if (version < known.length) {
    if (migrate === undefined) throw behind(names, version, known.length);
    await migrate();
  }
  await assertComplete(database, names);
}

/** Rejects with `store_unusable` if a column is missing, or one that this version cannot fill is there. */
async function assertComplete(queries: Queries, names: Names): Promise<void> {
  const rows = await queries.query(
    `SELECT class.relname::text, attribute.attname::text,
        (attribute.attnotnull AND NOT attribute.atthasdef AND attribute.attidentity = '')::int
      FROM pg_catalog.pg_attribute AS attribute JOIN pg_catalog.pg_class AS class ON class.oid = attribute.attrelid
      WHERE class.relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = $1) AND class.relkind IN ('r', 'p')
        AND attribute.attnum > 0 AND NOT attribute.attisdropped`,
    [names.schema],
  );
  const found = new Set(rows.map(([table, column]) => `column ${String(column)} of ${String(table)}`));
  const wanted = new Set<string>();
  for (const [table, columns] of Object.entries(columnsOfTables))
    for (const column of columns) wanted.add(`column ${column} of ${table}`);
  const unknown = rows
    .filter(([table, , isObligatory]) => isObligatory === 1 && String(table) in columnsOfTables)
    .map(([table, column]) => `column ${String(column)} of ${String(table)}`)
    .filter((part) => !wanted.has(part));
  const missing = [...wanted].filter((part) => !found.has(part));
  if (missing.length + unknown.length > 0)
    throw otherTables(`Schema ${names.schema} of the database`, missing, unknown);
}

/** Rejects with `store_unusable` if processes of this version cannot use it. */
export async function usableVersion(
  queries: Queries,
  names: Names,
  known: readonly Migration[] = migrations,
): Promise<SchemaVersion> {
  await assertSuitable(queries);
  const found = await versionOf(queries, names);
  if (found.goodFor > known.length) throw ahead(names, found);
  return found;
}

/** Upgrades a schema, one process at a time, each migration all or nothing; resolves with the number of migrations made. */
export async function migrateSchema(
  database: Pick<Database, "begin" | "query">,
  names: Names,
  { known = migrations, patienceMs: patience = patienceMs }: MigrateSetup = {},
): Promise<number> {
  const until = performance.now() + patience;
  for (let made = 0; ;) {
    try {
      if (await makeNext(database, names, known)) made++;
      else {
        for (const { indexes } of known)
          if (indexes !== undefined) await makeWhileInUse(database, names, indexes);
        return made;
      }
    } catch (error) {
      if (!isWorthRepeating(error) || performance.now() >= until) throw unusable(names, error);
      await pause(Math.min(lockTimeoutMs, patience)); // others make progress meanwhile
    }
  }
}

/** Resolves with false if there is none to make. */
async function makeNext(
  database: Pick<Database, "begin">,
  names: Names,
  known: readonly Migration[],
): Promise<boolean> {
  const transaction = await database.begin();
  try {
    await transaction.query("SET LOCAL statement_timeout = 0");
    // Wait for another migrating process, however long that takes.
    await transaction.query("SET LOCAL lock_timeout = 0");
    await transaction.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [
      `${names.schema} migration`,
    ]);
    await transaction.query(`SET LOCAL lock_timeout = ${lockTimeoutMs}`);
    const { version } = await usableVersion(transaction, names, known);
    const next = known[version];
    if (next === undefined) return false;
    await apply(transaction, names, version, next);
    await transaction.commit();
    return true;
  } finally {
    await transaction.rollback();
  }
}

async function apply(
  transaction: Transaction,
  names: Names,
  version: number,
  next: Migration,
): Promise<void> {
  if (version === 0) {
    // A role that may not create schemas can be given one.
    const [schema] = await transaction.query("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1", [
      names.schema,
    ]);
    if (schema === undefined) await transaction.query(`CREATE SCHEMA ${names.quoted}`);
    await transaction.query(`
      CREATE TABLE ${names.migration} (
        version integer PRIMARY KEY, good_for integer NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp())`);
  }
  // Without values, the text may contain several statements, so it need not be split.
  await transaction.query(next.sql(names));
  if (next.indexes !== undefined) await makeOnEmptyTable(transaction, names, next.indexes);
  await transaction.query(`INSERT INTO ${names.migration} (version, good_for) VALUES ($1, $2)`, [
    version + 1,
    next.goodFor,
  ]);
}

async function versionOf(queries: Queries, names: Names): Promise<SchemaVersion> {
  // Not to_regclass: in a transaction that waited for a lock, it does not see what others made meanwhile.
  const [there] = await queries.query(
    "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = 'migration'",
    [names.schema],
  );
  if (there === undefined) return { version: 0, goodFor: 0 };
  const [row] = await queries.query(
    `SELECT coalesce(max(version), 0), coalesce(max(good_for), 0) FROM ${names.migration}`,
  );
  return { version: Number(row?.[0]), goodFor: Number(row?.[1]) };
}

/** The command that upgrades a schema. */
export function commandFor({ schema }: Names): string {
  return `holdfast migrate URL${schema === defaultSchema ? "" : ` --schema ${schema}`}`;
}

function behind(names: Names, version: number, wanted: number): HoldfastError {
  const { schema } = names;
  const found =
    version === 0
      ? `has no Holdfast tables in schema ${schema}`
      : `has version ${version} of the tables in schema ${schema}`;
  return new HoldfastError(
    "store_unusable",
    `The database ${found}; this process needs version ${wanted}. Run "${commandFor(names)}", or set migrate to true.`,
  );
}

function ahead({ schema }: Names, { version, goodFor }: SchemaVersion): HoldfastError {
  return new HoldfastError(
    "store_unusable",
    `Schema ${schema} of the database has version ${version}, which only a Holdfast that knows version ${goodFor} can use. Update Holdfast.`,
  );
}

function unusable(names: Names, error: unknown): HoldfastError {
  if (error instanceof HoldfastError) return error;
  const { schema } = names;
  const hints: Readonly<Record<string, string>> = {
    "42501": `Run "${commandFor(names)}" as a role with that permission, or give this role the schema: CREATE SCHEMA ${schema} AUTHORIZATION ….`,
    "55P03": "A long transaction holds locks on its tables; pg_stat_activity lists it.",
  };
  const hint = hints[sqlState(error) ?? ""];
  return new HoldfastError(
    "store_unusable",
    `Schema ${schema} cannot be migrated: ${messageOf(error)}.${hint === undefined ? "" : ` ${hint}`}`,
    { cause: error },
  );
}

/** How long the database may take to answer (ms). A migration itself has no limit. */
const timeoutMs = 10_000;

/** Options of `migratePostgres`. */
export interface MigratePostgresOptions {
  /** The schema with the store's tables, as in `PostgresStoreOptions`. Default `holdfast`. */
  readonly schema?: string;
  /** Only reports what it would do. Default false. */
  readonly dryRun?: boolean;
}

/** What was done, or with `dryRun` would be. */
export interface PostgresMigration {
  readonly schema: string;
  /** The version before; 0: there was no schema. */
  readonly from: number;
  /** The version now, or with `dryRun` the one after a migration. */
  readonly to: number;
}

const optionNames: OptionNames<MigratePostgresOptions> = { schema: true, dryRun: true };

/**
 * Upgrades the schema of a store, for processes that open it with `migrate: false`; `holdfast migrate` does the same. You can run it while
 * processes of the previous version work, and any number of times.
 *
 * ```ts
 * import { migratePostgres } from "holdfast/postgres";
 *
 * const { from, to } = await migratePostgres("postgres://admin@db.internal/tasks");
 * console.log(from === to ? "nothing to do" : `went from version ${from} to ${to}`);
 * ```
 *
 * Rejects with `configuration` for an invalid option, and with `store_unusable` if the database cannot be reached, the role lacks
 * permission, or the schema is from a later version.
 */
export async function migratePostgres(
  url: string,
  options: MigratePostgresOptions = {},
): Promise<PostgresMigration> {
  assertOptionNames("migratePostgres", options, optionNames);
  const { schema = defaultSchema, dryRun = false } = options;
  const names = namesIn(schema);
  try {
    const from = await versionAt(url, names);
    const to = Math.max(from, migrations.length);
    const migration = { schema, from, to };
    if (dryRun) return migration;
    await withPatience(url, timeoutMs, (patient) => migrateSchema(patient, names));
    return migration;
  } catch (error) {
    throw unusableAt(url, error);
  }
}

async function versionAt(url: string, names: Names): Promise<number> {
  const database = await openDatabase({ url, max: 1, timeoutMs });
  try {
    return (await usableVersion(database, names)).version;
  } finally {
    await database.close();
  }
}
