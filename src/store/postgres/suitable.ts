// What tasks need of a database, looked at when a store opens: engines and poolers that speak the protocol of Postgres may do something else
// with its statements. Where possible it is tried out, so that an engine which learns it is refused no longer.

import { HoldfastError } from "../../task/fault.ts";
import type { Database, Queries } from "./database.ts";
import type { Names } from "./names.ts";
import { isBroken, lockTimeout, messageOf, sqlState } from "./postgres-error.ts";

/** The oldest supported Postgres. */
const oldestPostgres = 14;

/** Rejects with `store_unusable` if it is another database, an old one, or one that cannot hold all texts. */
export async function assertSuitable(queries: Queries): Promise<void> {
  const [row] = await queries.query(
    "SELECT version(), current_setting('server_version_num')::integer / 10000, current_setting('server_encoding')",
  );
  const [text, version, encoding] = row ?? [];
  const name = String(text).replace(/ (?:on|\(|v\d).*$/s, "");
  if (name.startsWith("CockroachDB"))
    throw unusable(
      `The database is ${name}, whose advisory locks lock nothing, and which has no LISTEN. Use Postgres ${oldestPostgres} or later.`,
    );
  if (Number(version) < oldestPostgres)
    throw unusable(`The database is ${name}; the store needs Postgres ${oldestPostgres} or later.`);
  if (encoding !== "UTF8")
    throw unusable(`The database has the encoding ${String(encoding)}; the store needs UTF8.`);
}

/** Rejects with `store_unusable` if transactions cannot begin. */
export async function assertBegins(database: Pick<Database, "begin">): Promise<void> {
  const transaction = await database.begin();
  try {
    await transaction.query("SELECT 1");
  } catch (error) {
    if (!isBroken(error)) throw error;
    throw unusable(
      `The connection to the database was closed when a transaction began: ${messageOf(error)}. A pooler such as PgBouncer must not be in statement mode: set pool_mode = transaction.`,
      error,
    );
  } finally {
    await transaction.rollback();
  }
}

const setting = "SELECT current_setting($1)";
/** A pooler gave one client's connection to another one, with the statements that it keeps, or without. */
const statementsMixed: ReadonlySet<string | undefined> = new Set(["42P05", "26000"]);

/**
 * Rejects with `store_unusable` if connections do not keep statements, or have settings with which statements outside of transactions fail.
 * The two databases have connections of their own, with the same statements.
 */
export async function assertConnections(
  database: Pick<Database, "read">,
  others: Pick<Database, "read">,
): Promise<void> {
  try {
    const [[isolation] = []] = await database.read(setting, ["default_transaction_isolation"]);
    const [[readOnly] = []] = await others.read(setting, ["default_transaction_read_only"]);
    if (readOnly === "on")
      throw unusable(
        "Transactions of this role only read. Let it write: ALTER ROLE … SET default_transaction_read_only = off.",
      );
    if (isolation !== "read committed")
      throw unusable(
        `Transactions of this role are ${String(isolation)} by default, which a store cannot change behind a pooler. Set ALTER ROLE … SET default_transaction_isolation = 'read committed'.`,
      );
  } catch (error) {
    if (!statementsMixed.has(sqlState(causeOf(error)))) throw error;
    throw unusable(
      "preparedStatements is true, but the pooler gives statements of one client to another one. Set max_prepared_statements above 0 (PgBouncer 1.21 or later), or leave preparedStatements out.",
      error,
    );
  }
}

/** Rejects with `store_unusable` unless transactions lock rows and names as Postgres does, and see what others commit. Tries it on the owner's row. */
export async function assertTransactions(
  database: Pick<Database, "begin">,
  names: Names,
  owner: string,
): Promise<void> {
  const missing = await missingOf(database, probeStatements(names), names, owner).catch((error: unknown) => {
    const cause = causeOf(error);
    if (sqlState(cause) === lockTimeout) return "SKIP LOCKED: a locked row was waited for";
    // A function or a clause that it does not have.
    if (/^(?:42883|42601|0A000)$/.test(sqlState(cause) ?? "")) return messageOf(cause);
    throw error;
  });
  if (missing !== undefined)
    throw unusable(`The database, or a pooler before it, lacks something that tasks need: ${missing}.`);
}

/** What is missing, with what to set; undefined if nothing is. */
async function missingOf(
  database: Pick<Database, "begin">,
  sql: ReturnType<typeof probeStatements>,
  { schema }: Names,
  owner: string,
): Promise<string | undefined> {
  const lock = `${schema} probe ${owner}`;
  const one = await database.begin();
  try {
    const [[before] = []] = (
      await Promise.all([one.query(sql.share, [owner]), one.query(sql.lock, [lock])])
    )[0];
    const two = await database.begin();
    try {
      const [[free], renewable, lockable] = await Promise.all([
        two.query(sql.tryLock, [lock]),
        two.query(sql.lockToRenew, [owner]),
        two.query(sql.lockAlone, [owner]),
      ]);
      if (free?.[0] !== 0) return "advisory locks of transactions, which lock nothing here";
      if (renewable.length === 0) return "FOR KEY SHARE, which locks rows alone here";
      if (lockable.length > 0) return "row locks, which lock nothing here";
      await Promise.all([two.query(sql.change, [owner]), two.commit()]);
    } finally {
      await two.rollback();
    }
    const [[after] = []] = await one.query(sql.share, [owner]);
    return before === after
      ? "read committed isolation, in which a transaction sees what others commit (on YugabyteDB, set yb_enable_read_committed_isolation = true)"
      : undefined;
  } finally {
    await one.rollback();
  }
}

/** The statements with which an owner tries its own row. */
export function probeStatements({ owner }: Names) {
  return {
    share: `SELECT since::text FROM ${owner} WHERE id = $1 FOR KEY SHARE`,
    lock: "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))",
    tryLock: "SELECT CASE WHEN pg_try_advisory_xact_lock(hashtextextended($1, 0)) THEN 1 ELSE 0 END",
    lockToRenew: `SELECT 1 FROM ${owner} WHERE id = $1 FOR NO KEY UPDATE SKIP LOCKED`,
    lockAlone: `SELECT 1 FROM ${owner} WHERE id = $1 FOR UPDATE SKIP LOCKED`,
    change: `UPDATE ${owner} SET since = clock_timestamp() WHERE id = $1`,
  };
}

function causeOf(error: unknown): unknown {
  return error instanceof HoldfastError && error.cause !== undefined ? error.cause : error;
}

function unusable(problem: string, cause?: unknown): HoldfastError {
  return new HoldfastError("store_unusable", problem, { cause });
}
