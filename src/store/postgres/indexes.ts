import type { Database, Queries } from "./database.ts";
import type { Names } from "./names.ts";

/** Indexes by their names, each as the text after `CREATE INDEX name ON`. */
export type Indexes = (names: Names) => Readonly<Record<string, string>>;

/** Creates missing indexes in the transaction of a migration if the table of tasks is empty: otherwise nobody could write meanwhile. */
export async function makeOnEmptyTable(queries: Queries, names: Names, indexes: Indexes): Promise<void> {
  const [task] = await queries.query(`SELECT 1 FROM ${names.task} LIMIT 1`);
  if (task !== undefined) return;
  for (const [name, on] of Object.entries(indexes(names)))
    await queries.query(`CREATE INDEX ${name} ON ${on}`);
}

/**
 * Creates indexes that are missing, or that a dead process left half built, while all others keep writing. Everything works without them,
 * but operators wait longer. Does not wait for an index that another process is creating.
 */
export async function makeWhileInUse(
  database: Pick<Database, "query">,
  names: Names,
  indexes: Indexes,
): Promise<void> {
  for (const [name, on] of Object.entries(indexes(names))) {
    const state = await stateOf(database, names, name);
    if (state === "ready" || state === "being made") continue;
    if (state === "broken") await database.query(`DROP INDEX CONCURRENTLY IF EXISTS ${names.quoted}.${name}`);
    await database.query(`CREATE INDEX CONCURRENTLY IF NOT EXISTS ${name} ON ${on}`);
  }
}

type IndexState = "ready" | "being made" | "broken" | "missing";

async function stateOf(queries: Queries, { schema }: Names, name: string): Promise<IndexState> {
  const [row] = await queries.query(
    `SELECT index.indisvalid::int, (SELECT count(*)::int FROM pg_catalog.pg_stat_progress_create_index AS made
        WHERE made.relid = index.indrelid AND made.datname = current_database())
      FROM pg_catalog.pg_index AS index JOIN pg_catalog.pg_class AS class ON class.oid = index.indexrelid
      WHERE class.relname = $1 AND class.relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = $2)`,
    [name, schema],
  );
  if (row === undefined) return "missing";
  const [isValid, making] = row;
  if (Number(isValid) === 1) return "ready";
  return Number(making) > 0 ? "being made" : "broken";
}
