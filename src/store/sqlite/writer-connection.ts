import { statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { HoldfastError } from "../../task/fault.ts";
import type { StoreOwner } from "../../task/queue.ts";
import { turnMs } from "./begin-write.ts";
import { connect } from "./connect.ts";
import { assertComplete, assertMigrated, assertOurs, migrate, number } from "./migrate.ts";
import { migrations } from "./schema.ts";
import { primaryCode, sqliteCode } from "./sqlite-error.ts";
import { unusable } from "./unusable.ts";

/**
 * The most bytes of the write-ahead log kept on disk after its copy into the database. It is copied at half of that, so that a usual load
 * never truncates the file and lets it grow again.
 */
const logLimitBytes = 8 * 1024 * 1024;

/** How a write connection is opened. */
export interface DatabaseOptions {
  /** The real path. */
  readonly path: string;
  readonly busyTimeoutMs: number;
  readonly maxBytes: number | null;
  /** Whether to upgrade an empty or older database instead of refusing it. */
  readonly migrate: boolean;
}

/** What the writer needs to know about its database; plain data, since it is sent to another thread. */
export interface WriterOptions extends DatabaseOptions {
  readonly owner: StoreOwner;
}

/**
 * Throws `store_unusable` if the file is not ours, or has an older schema and must not be migrated, without leaving a trace in it or beside
 * it. `openWriterConnection` finds what only a write connection can (after a crash that left work to roll back).
 */
export function refuseForeignFile(path: string, migrates: boolean, known = migrations): void {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return;
  let db: DatabaseSync | undefined;
  try {
    db = connect(path, { readOnly: true });
    assertUsable(db, path, migrates, known);
  } catch (error) {
    const code = primaryCode(error);
    if (code !== sqliteCode.busy && code !== sqliteCode.readonly) throw unusable(path, error);
  } finally {
    db?.close();
  }
}

/**
 * Opens the write connection, with durable settings and an upgraded schema, for transactions that `beginWrite` begins; throws
 * `store_unusable`.
 */
export function openWriterConnection({
  path,
  busyTimeoutMs,
  maxBytes,
  migrate: migrates,
}: DatabaseOptions): DatabaseSync {
  let db: DatabaseSync | undefined;
  try {
    db = connect(path, { timeout: busyTimeoutMs });
    assertUsable(db, path, migrates);
    useWriteAheadLog(db, path);
    // An acknowledged write survives a power loss; on macOS only `fullfsync` reaches the disk itself.
    db.exec("PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON");
    if (maxBytes !== null) {
      const pages = Math.max(1, Math.floor(maxBytes / number(db, "PRAGMA page_size")));
      db.exec(`PRAGMA max_page_count = ${pages}`);
    }
    db.exec(`PRAGMA journal_size_limit = ${logLimitBytes}`);
    migrate(db);
    assertComplete(db, path);
    db.exec(`PRAGMA busy_timeout = ${turnMs}`);
    return db;
  } catch (error) {
    db?.close();
    throw unusable(path, error);
  }
}

function assertUsable(db: DatabaseSync, path: string, migrates: boolean, known = migrations): void {
  if (migrates) assertOurs(db, path, known);
  else assertMigrated(db, path, known);
}

/**
 * Truncates the write-ahead log if it has grown beyond its limit: because of a large transaction, or another program's read that prevented
 * copying it. Waits for nobody; the next commit tries again.
 */
export function shrinkLog(db: DatabaseSync, path: string): void {
  const { size = 0 } = statSync(`${path}-wal`, { throwIfNoEntry: false }) ?? {};
  if (size <= logLimitBytes) return;
  db.exec("PRAGMA busy_timeout = 0");
  db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  db.exec(`PRAGMA busy_timeout = ${turnMs}`);
}

function useWriteAheadLog(db: DatabaseSync, path: string): void {
  const [mode] = Object.values(db.prepare("PRAGMA journal_mode = WAL").get() ?? {});
  if (mode === "wal") return;
  throw new HoldfastError(
    "store_unusable",
    `${path} cannot be used: its file system does not support the shared memory that SQLite's write-ahead log needs. Use a local disk.`,
  );
}
