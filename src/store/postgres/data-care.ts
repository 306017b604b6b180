import { unusableAt, withPatience } from "./connections.ts";
import type { Database, Queries, SqlValue } from "./database.ts";
import { defaultSchema, type Names, namesIn } from "./names.ts";
import { firstNumber, tableIn, tablesOf } from "./schema.ts";
import { type Erased, type ErasedTasks, eraseRest, eraseSql, eraseTasks } from "../erased.ts";
import { idOf, toStored } from "../row.ts";
import { inTurn } from "./read-task.ts";
import { principalKey, totalKey } from "./task-sql.ts";
import type { KeyRing } from "../encryption-keys.ts";
import { type KeyUsage, keyUsageOf } from "../key-usage.ts";
import { resealDatabase, type Resealed, type ResealSetup, type RewrittenDatabase } from "../reseal.ts";

interface Place {
  readonly url: string;
  readonly options: { readonly schema?: string };
}

/** How long the database may take to answer (ms); a rewrite has no limit. */
const timeoutMs = 10_000;

/** The size of a schema's tables on disk, with their indexes, in bytes. */
export async function sizeOfPostgres(place: Place): Promise<number> {
  return withSchema(place, async (database, { schema }) => {
    const sum =
      "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r'";
    return firstNumber((await database.query(sum, [schema]))[0]);
  });
}

/** Frees unused space. With `rewrite` the tables are rewritten, one by one; others that use a table wait meanwhile. */
export async function compactPostgres(place: Place, rewrite: boolean): Promise<void> {
  await withSchema(place, (database, names) => compactTables(database, names, rewrite));
}

async function compactTables(database: Database, names: Names, rewrite: boolean): Promise<void> {
  for (const table of await tablesOf(database, names))
    await database.query(`VACUUM (${rewrite ? "FULL, " : ""}ANALYZE) ${tableIn(names, table)}`);
}

/** Runs `work` on a connection without time limits. */
async function withSchema<T>(
  { url, options: { schema = defaultSchema } }: Place,
  work: (database: Database, names: Names) => Promise<T>,
): Promise<T> {
  const names = namesIn(schema);
  try {
    return await withPatience(url, timeoutMs, async (database) => {
      await database.query("SET statement_timeout = 0");
      return work(database, names);
    });
  } catch (error) {
    throw unusableAt(url, error);
  }
}

/** Tasks per transaction, which others have to wait for. */
const atOnce = 200;

/** How long to wait for transactions that began earlier (ms). */
const patienceMs = 10_000;

/** How often to check whether they have ended (ms). */
const lookMs = 50;

/**
 * Deletes all rows of a principal's finished tasks, its sessions, and the news about those; then rewrites the tables, and clears the
 * database's statistics of their values. `isClean` is false if the role may not clear these, or an earlier transaction takes longer than
 * `withinMs`: the rewrite keeps the rows that it can still see.
 */
export async function eraseFromPostgres(
  place: { readonly url: string; readonly options: { readonly schema?: string } },
  principal: string,
  withinMs = patienceMs,
): Promise<Erased & { readonly isClean: boolean }> {
  return withSchema(place, async (database, names) => {
    const counts = new Map<string, number>();
    const sql = eraseSql(names, "postgres");
    const ids = (await database.query(sql.ended, [toStored(principal)])).map(idOf);
    for (let from = 0; from < ids.length; from += atOnce)
      await inTransaction(database, (queries) =>
        eraseSome(queries, names, { ids: ids.slice(from, from + atOnce), principal }, counts),
      );
    await inTransaction(database, (queries) => eraseOthers(queries, names, { ids, principal }, counts));
    const left = (await database.query(sql.left, [toStored(principal)])).map(idOf);
    const isUnseen = await othersHaveEnded(database, withinMs);
    await compactTables(database, names, true);
    // ANALYZE replaced the statistics; others may still see their old rows.
    const isForgotten = (await othersHaveEnded(database, withinMs)) && (await forgetStatistics(database));
    return { rows: Object.fromEntries(counts), left, isClean: isUnseen && isForgotten };
  });
}

/**
 * Waits for other transactions that may see what was deleted until now; resolves with false if some take too long. A transaction sees what any
 * one saw that wrote when it began, so writers come first: those who read since then see no more than that.
 */
async function othersHaveEnded(database: Database, withinMs: number): Promise<boolean> {
  const [row] = await database.query("SELECT pg_current_xact_id()::xid::text");
  const before = String(row?.[0]);
  return (
    (await haveEnded(database, openWriters, [], withinMs)) &&
    (await haveEnded(database, openTransactions, [before], withinMs))
  );
}

/** Waits until those that a statement names now are not among those that it names. */
async function haveEnded(
  database: Database,
  sql: string,
  values: readonly SqlValue[],
  withinMs: number,
): Promise<boolean> {
  const open = (await database.query(sql, values)).map(idOf);
  for (let waitedMs = 0; waitedMs < withinMs; waitedMs += lookMs) {
    const now = new Set((await database.query(sql, values)).map(idOf));
    if (!open.some((id) => now.has(id))) return true;
    await database.query(`SELECT pg_sleep(${lookMs / 1_000})`);
  }
  return false;
}

/**
 * Transactions that write, also in other databases of the server, and prepared ones: every snapshot that is taken meanwhile, that of a rewrite
 * too, keeps what they could see.
 */
const openWriters = `SELECT virtualtransaction FROM pg_catalog.pg_locks
    WHERE locktype = 'transactionid' AND mode = 'ExclusiveLock' AND granted AND pid IS DISTINCT FROM pg_backend_pid()`;

/**
 * Transactions of this database, and standbys that make the server keep what they read. Not every role may see what others can see, but
 * every role sees which transactions exist.
 */
const openTransactions = `SELECT virtualtransaction FROM pg_catalog.pg_locks JOIN pg_catalog.pg_stat_activity USING (pid)
    WHERE locktype = 'virtualxid' AND datname = current_database() AND pid <> pg_backend_pid()
  UNION ALL SELECT gid FROM pg_catalog.pg_prepared_xacts WHERE database = current_database()
  UNION ALL SELECT slot_name FROM pg_catalog.pg_replication_slots WHERE age(xmin) >= age($1::xid)`;

async function eraseSome(
  queries: Queries,
  names: Names,
  { ids, principal }: ErasedTasks,
  counts: Map<string, number>,
): Promise<void> {
  // Servers delete expired tasks, and count them.
  const there = `SELECT id FROM ${names.task} WHERE id = ANY($1) ORDER BY id FOR UPDATE`;
  const stored = (await queries.query(there, [ids.map(toStored)])).map(idOf).map(toStored);
  // Tasks made by other tasks are not counted for anyone.
  const below = `SELECT count(*) FROM ${names.child} WHERE id = ANY($1)`;
  const children = firstNumber((await queries.query(below, [stored]))[0]);
  await inTurn(queries, eraseTasks(eraseSql(names, "postgres"), stored, counts));
  const counted = stored.length - children;
  for (const key of [totalKey, principalKey(principal)]) {
    await queries.query(
      `INSERT INTO ${names.usage} AS counts (key, slot, unfinished, retained) VALUES ($1, 0, 0, -$2::bigint)
        ON CONFLICT (key, slot) DO UPDATE SET retained = counts.retained + excluded.retained`,
      [key, counted],
    );
  }
}

async function eraseOthers(
  queries: Queries,
  names: Names,
  erased: ErasedTasks,
  counts: Map<string, number>,
): Promise<void> {
  const { principal } = erased;
  const sessions = await inTurn(queries, eraseRest(eraseSql(names, "postgres"), erased, counts));
  // The principal of a deleted session is unknown, and nobody needs its messages.
  await queries.query(
    `DELETE FROM ${names.sessionNews} AS news WHERE session = ANY($1) OR (message IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM ${names.session} AS session WHERE session.id = news.session))`,
    [sessions],
  );
  // Processes that serve one of these learn that it is gone.
  await queries.query(
    `INSERT INTO ${names.sessionNews} (owner, session) SELECT '', id FROM unnest($1::text[]) AS id`,
    [sessions],
  );
  const none = `DELETE FROM ${names.usage} WHERE key = $1 AND NOT EXISTS (SELECT 1 FROM ${names.task} WHERE principal = $2)`;
  await queries.query(none, [principalKey(principal), toStored(principal)]);
}

async function inTransaction(database: Database, work: (queries: Queries) => Promise<void>): Promise<void> {
  const transaction = await database.begin();
  try {
    await work(transaction);
    await transaction.commit();
  } finally {
    await transaction.rollback();
  }
}

/**
 * The planner keeps frequent values of columns; the tables were just analyzed again, and the old statistics are overwritten. False if the
 * role may not do that.
 */
async function forgetStatistics(database: Database): Promise<boolean> {
  try {
    await database.query("VACUUM (FULL) pg_catalog.pg_statistic");
    return true;
  } catch {
    return false;
  }
}

/** Old versions of rows stay in the tables until these are vacuumed, and in the log of the server. */
export async function resealPostgres(place: Place, setup: ResealSetup): Promise<Resealed> {
  return withSchema(place, (database, names) => resealDatabase(rewritten(database, names), setup));
}

export async function keyUsageOfPostgres(place: Place, keys: KeyRing | undefined): Promise<KeyUsage> {
  return withSchema(place, (database, names) => keyUsageOf(rewritten(database, names), keys));
}

function rewritten(database: Database, names: Names): RewrittenDatabase {
  return {
    named: (table) => tableIn(names, table),
    same: "IS NOT DISTINCT FROM",
    news: "session_news",
    read: (sql, values) => database.query(sql, values),
    async write(statements) {
      const transaction = await database.begin();
      try {
        const changed = await Promise.all(
          statements.map(({ sql, values }) => transaction.query(`${sql} RETURNING 1`, values)),
        );
        await transaction.commit();
        return changed.reduce((sum, rows) => sum + rows.length, 0);
      } finally {
        await transaction.rollback();
      }
    },
  };
}
