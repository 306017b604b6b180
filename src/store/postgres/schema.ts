import type { Database, Queries } from "./database.ts";
import type { Names } from "./names.ts";
import type { Row } from "../row.ts";
import { postgresTables } from "../tables/statements.ts";
import { tables } from "../tables/tables.ts";
import { limitSchema } from "./postgres-limits.ts";

/** Indexes by their names, each as the text after `CREATE INDEX name ON`. */
type Indexes = (names: Names) => Readonly<Record<string, string>>;

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

/** All tables of a schema, whichever migrations created them. */
export async function tablesOf(queries: Queries, { schema }: Names): Promise<readonly string[]> {
  const rows = await queries.query(
    "SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = $1 ORDER BY tablename",
    [schema],
  );
  return rows.map(firstText);
}

/** A table as statements name it. */
export function tableIn({ quoted }: Names, table: string): string {
  return `${quoted}."${table.replaceAll('"', '""')}"`;
}

/** The text of a row's first column. */
export function firstText(row: Row | undefined): string {
  return String(row?.[0] ?? "");
}

/** The number of a row's first column. */
export function firstNumber(row: Row | undefined): number {
  return Number(row?.[0] ?? 0);
}

/** Disables the timeouts of the role and the database, for work without a time limit. */
export const withoutTimeouts =
  "SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0";

/**
 * A change of the schema. Processes of the previous version keep running during and after it. It waits only briefly for locks, and they
 * wait only as long as it takes. So it adds things, and leaves what they use unchanged. It creates no index on a table that may be large,
 * since its transaction would block all writes.
 */
export interface Migration {
  /** Its statements, sent as one text. */
  readonly sql: (names: Names) => string;
  /** The oldest version whose processes can use the schema afterwards: the one before it, or an older one. */
  readonly goodFor: number;
  /** On the table of tasks: created with the rest if it is empty, and otherwise afterwards, while others keep writing. */
  readonly indexes?: Indexes;
}

/** Of tables that stay small, however often their rows change. */
const vacuumOften = "autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500";

/**
 * The tables of this store alone. `committed` has the last committed transactions of an owner. `session_news` has the owners' news about
 * sessions: a row without a message says that one was changed or deleted.
 */
function ownTables(names: Names): string {
  return `
CREATE TABLE ${names.owner} (
  id text COLLATE "C" PRIMARY KEY,
  pid integer NOT NULL,
  host text NOT NULL,
  since timestamptz NOT NULL,
  handlers text NOT NULL,
  lease_until timestamptz NOT NULL,
  steady_since timestamptz NOT NULL DEFAULT clock_timestamp(),
  retired smallint NOT NULL DEFAULT 0,
  drain_until bigint
) WITH (fillfactor = 50, ${vacuumOften});

CREATE TABLE ${names.committed} (
  owner text COLLATE "C",
  xid bigint,
  PRIMARY KEY (owner, xid)
) WITH (${vacuumOften});

CREATE TABLE ${names.usage} (
  key text COLLATE "C" NOT NULL,
  slot smallint NOT NULL,
  unfinished bigint NOT NULL,
  retained bigint NOT NULL,
  PRIMARY KEY (key, slot)
) WITH (fillfactor = 50, ${vacuumOften});

CREATE TABLE ${names.sessionNews} (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  owner text COLLATE "C" NOT NULL,
  session text COLLATE "C" NOT NULL,
  message text,
  at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX session_news_at ON ${names.sessionNews} (at);
${limitSchema(names)}`;
}

/** Whatever version of the schema has them. */
export const columnsOfTables: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(
    tables.map(({ table, serial, written }) => [
      table,
      [...(serial === undefined ? [] : [serial]), ...written.map(({ name }) => name)],
    ]),
  ),
  owner: ["id", "pid", "host", "since", "handlers", "lease_until", "steady_since", "retired", "drain_until"],
  committed: ["owner", "xid"],
  usage: ["key", "slot", "unfinished", "retained"],
  session_news: ["seq", "owner", "session", "message", "at"],
  limit_line: ["name", "ticket", "paused_until", "last_at"],
  limit_place: [
    "seq",
    "name",
    "task_id",
    "entry",
    "token",
    "owner",
    "turn_of",
    "ticket",
    "phase",
    "since",
    "lives_on",
  ],
};

function schemaOf(names: Names): string {
  return `${postgresTables(tables, (table) => `${names.quoted}.${table}`)}\n${ownTables(names)}`;
}

/**
 * In order; the first makes the tables. A schema's version is the number of its migrations. Released ones are never edited: later ones
 * change the schema.
 */
export const migrations: readonly Migration[] = [{ sql: schemaOf, goodFor: 1 }];
