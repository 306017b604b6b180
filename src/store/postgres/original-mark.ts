import { HoldfastError } from "../../task/fault.ts";
import { openPool } from "./connections.ts";
import { Database, type Queries } from "./database.ts";
import { namesIn, type Names } from "./names.ts";
import { living } from "./owner-sql.ts";
import { sqlState } from "./postgres-error.ts";
import { tableIn } from "./whole-schema.ts";

/** The schema that was backed up. */
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

/** Marks a schema as a copy of the original. */
export async function markOriginal(queries: Queries, names: Names, original: Original): Promise<void> {
  const table = tableIn(names, mark);
  await queries.query(`CREATE TABLE ${table} (${columns.map((name) => `${name} text NOT NULL`).join(", ")})`);
  const values = columns.map((name) => original[name] ?? "");
  await queries.query(`INSERT INTO ${table} (${columns.join(", ")}) VALUES ($1, $2, $3, $4)`, values);
}

/**
 * Rejects with `store_locked` while living owners have the original of this restored schema open, on the same server: both would run the
 * same tasks. Once none has, it is a schema like any other.
 */
export async function refuseBesideOriginal(
  database: Queries,
  url: string,
  names: Names,
  leaseMs: number,
): Promise<void> {
  const known = "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = $2";
  const [isMarked] = await database.query(known, [names.schema, mark]);
  if (isMarked === undefined) return;
  const [row] = await database.query(`SELECT ${columns.join(", ")} FROM ${tableIn(names, mark)}`);
  if (row === undefined) return;
  const [system = "", name = "", schema = "", oid = ""] = row.map(String);
  const own = await originalAt(database, names);
  const owners =
    system === own.system ? await ownersOf({ system, database: name, schema, oid }, own, url, leaseMs) : [];
  if (owners.length > 0) {
    throw new HoldfastError(
      "store_locked",
      `Schema ${names.schema} of database ${own.database} was restored from a backup of schema ${schema} of database ${name}, which is in use by ${owners.join(", ")}: both would run the same tasks. Stop it first, or restore the backup again with --beside if both should run.`,
    );
  }
  await database.query(`DELETE FROM ${tableIn(names, mark)}`);
}

/** The owners that have the original open, for messages. */
async function ownersOf(
  original: Original,
  own: Original,
  url: string,
  leaseMs: number,
): Promise<readonly string[]> {
  if (original.database === own.database && original.schema === own.schema) return [];
  const at = new URL(url);
  at.pathname = `/${encodeURIComponent(original.database)}`;
  const database = new Database(await openPool({ url: at.href, max: 1, timeoutMs }), timeoutMs);
  try {
    const names = namesIn(original.schema);
    if ((await originalAt(database, names)).oid !== original.oid) return [];
    return (await database.query(living(names), [leaseMs])).map(
      ([pid, host, since]) => `process ${String(pid)} on ${String(host)} since ${String(since)}`,
    );
  } catch (error) {
    if (isGone.has(sqlState(error instanceof HoldfastError ? error.cause : error))) return [];
    throw error;
  } finally {
    await database.close();
  }
}
