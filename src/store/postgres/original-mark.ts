import { HoldfastError } from "../../task/fault.ts";
import type { Query } from "../dialect.ts";
import { type LoadMark, loadMarkSql, loadTable, markIn, refuseWhileLoading } from "../load-mark.ts";
import type { Row } from "../row.ts";
import { openDatabase } from "./connections.ts";
import { namesIn, type Names } from "./names.ts";
import { living } from "./ownership.ts";
import { sqlState } from "./postgres-error.ts";
import { inTurn } from "./read-task.ts";
import { withDatabase } from "./work-sharing.ts";
import type { Queries } from "./database.ts";
import { tableIn } from "./schema.ts";

/** The schema that was dumped. */
export interface Original extends Readonly<Record<string, string>> {
  /** Identifies the server; empty if it is unknown. */
  readonly system: string;
  readonly database: string;
  readonly schema: string;
  /** Identifies the schema among others of the same name. */
  readonly oid: string;
}

const mark = "restored_from";
const columns = ["system", "database", "schema", "oid"] as const;
const timeoutMs = 10_000;

/** Of owners whose lease nobody here knows (ms): after a start of the database, one of them may still renew it. */
const longestLeaseMs = 60_000;

/** SQLSTATEs for a database or schema that no longer exists. */
const isGone: ReadonlySet<string | undefined> = new Set(["3D000", "3F000", "42P01"]);

/** The identity of a schema. */
export async function originalAt(queries: Queries, { schema }: Names): Promise<Original> {
  const [row] = await queries.query(
    "SELECT current_database(), (SELECT oid::text FROM pg_catalog.pg_namespace WHERE nspname = $1)",
    [schema],
  );
  const [database, oid] = row ?? [];
  return { system: await systemOf(queries), database: String(database), schema, oid: String(oid) };
}

async function systemOf(queries: Queries): Promise<string> {
  try {
    const [row] = await queries.query("SELECT system_identifier::text FROM pg_catalog.pg_control_system()");
    return String(row?.[0]);
  } catch {
    return ""; // this role may not read it
  }
}

/** What marks a schema as a copy of the original. */
export function marksOriginal(names: Names, original: Original): readonly Query[] {
  const table = tableIn(names, mark);
  const values = columns.map((name) => original[name] ?? "");
  return [
    {
      sql: `CREATE TABLE ${table} (${columns.map((name) => `${name} text NOT NULL`).join(", ")})`,
      values: [],
    },
    { sql: `INSERT INTO ${table} (${columns.join(", ")}) VALUES ($1, $2, $3, $4)`, values },
  ];
}

/**
 * Rejects with `store_locked` while a dump is being loaded into this schema, and while living owners have its original open, on the same
 * server: both would run the same tasks. Once none has, it is a schema like any other.
 */
export async function refuseBesideOriginal(
  database: Queries,
  url: string,
  names: Names,
  leaseMs: number,
): Promise<void> {
  const marks = (await database.query(selectTableNames, [names.schema, [mark, loadTable]])).map(String);
  refuseWhileLoading(`Schema ${names.schema} of the database`, marks.includes(loadTable));
  if (!marks.includes(mark)) return;
  const [row] = await database.query(`SELECT ${columns.join(", ")} FROM ${tableIn(names, mark)}`);
  if (row === undefined) return;
  const [system = "", name = "", schema = "", oid = ""] = row.map(String);
  const own = await originalAt(database, names);
  const owners =
    system === own.system ? await ownersOf({ system, database: name, schema, oid }, own, url, leaseMs) : [];
  if (owners.length > 0) {
    throw new HoldfastError(
      "store_locked",
      `Schema ${names.schema} of database ${own.database} was loaded from a dump of schema ${schema} of database ${name}, which is in use by ${owners.join(", ")}: both would run the same tasks. Stop it first, or load the dump into another schema with --beside if both should run.`,
    );
  }
  await database.query(`DELETE FROM ${tableIn(names, mark)}`);
}

/** Rejects with `store_locked` while living owners have the schema open. */
export async function refuseWhileInUse(database: Queries, names: Names): Promise<void> {
  const owners = (await database.query(living(names), [longestLeaseMs])).map(describe);
  if (owners.length === 0) return;
  throw new HoldfastError(
    "store_locked",
    `Schema ${names.schema} of the database is in use by ${owners.join(", ")}. Stop it before you load a dump into it.`,
  );
}

function describe([pid, host, since]: Row): string {
  return `process ${String(pid)} on ${String(host)} since ${String(since)}`;
}

/** The owners that have the original open, for messages. */
async function ownersOf(
  original: Original,
  own: Original,
  url: string,
  leaseMs: number,
): Promise<readonly string[]> {
  if (original.database === own.database && original.schema === own.schema) return [];
  const at = withDatabase(url, original.database);
  const database = await openDatabase({ url: at, max: 1, timeoutMs });
  try {
    const names = namesIn(original.schema);
    if ((await originalAt(database, names)).oid !== original.oid) return [];
    return (await database.query(living(names), [leaseMs])).map(describe);
  } catch (error) {
    if (isGone.has(sqlState(error instanceof HoldfastError ? error.cause : error))) return [];
    throw error;
  } finally {
    await database.close();
  }
}

export const selectTableNames =
  "SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = ANY($2::text[])";

export async function loadMark(queries: Queries, names: Names): Promise<LoadMark | undefined> {
  const [isMarked] = await queries.query(selectTableNames, [names.schema, [loadTable]]);
  if (isMarked === undefined) return undefined;
  return inTurn(queries, markIn(loadMarkSql(tableIn(names, loadTable), "postgres")));
}
