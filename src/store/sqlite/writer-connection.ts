import { statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { HoldfastError } from "../../task/fault.ts";
import type { StoreOwner } from "../../task/owner.ts";
import { turnMs } from "./begin-write.ts";
import { connect } from "./connect.ts";
import { assertMigrated, assertOurs, number } from "./database-header.ts";
import { migrate, migrations } from "./migrate.ts";
import { primaryCode, sqliteCode } from "./sqlite-error.ts";
import { unusable } from "./unusable.ts";

/**
 * What the write-ahead log may keep on disk once it is copied into the database, in bytes. It is copied at half of that,
 * so that a usual load never cuts the file and lets it grow again.
 */
const logLimitBytes = 8 * 1024 * 1024;

/** What the writer has to know about its database; plain data, since it crosses to another thread. */
export interface WriterOptions {
  /** The real path. */
  readonly path: string;
  readonly busyTimeoutMs: number;
  readonly maxBytes: number | null;
  /** Whether an empty or older database is brought up to date, and not refused. */
  readonly migrate: boolean;
  readonly owner: StoreOwner;
}

/**
 * Throws `store_unusable` for a file that is not ours, or has an older schema and is not to be migrated, without leaving a trace in it or beside it. What only a
 * writing connection can find out (a crash left work to roll back) is left to `openWriterConnection`.
 */
export function refuseForeignFile(path: string, migrates: boolean): void {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return;
  let db: DatabaseSync | undefined;
  try {
    db = connect(path, { readOnly: true });
    assertUsable(db, path, migrates);
  } catch (error) {
    const code = primaryCode(error);
    if (code !== sqliteCode.busy && code !== sqliteCode.readonly) throw unusable(path, error);
  } finally {
    db?.close();
  }
}

/**
 * Opens the writing connection, durable in its settings and up to date in its schema, for transactions that `beginWrite`
 * begins; throws `store_unusable`.
 */
export function openWriterConnection({
  path,
  busyTimeoutMs,
  maxBytes,
  migrate: migrates,
}: WriterOptions): DatabaseSync {
  let db: DatabaseSync | undefined;
  try {
    db = connect(path, { timeout: busyTimeoutMs });
    assertUsable(db, path, migrates);
    useWriteAheadLog(db, path);
    // An acknowledged write survives a loss of power; on macOS only `fullfsync` reaches the disk itself.
    db.exec("PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON");
    if (maxBytes !== null) {
      const pages = Math.max(1, Math.floor(maxBytes / number(db, "PRAGMA page_size")));
      db.exec(`PRAGMA max_page_count = ${pages}`);
    }
    db.exec(`PRAGMA journal_size_limit = ${logLimitBytes}`);
    migrate(db);
    db.exec(`PRAGMA busy_timeout = ${turnMs}`);
    return db;
  } catch (error) {
    db?.close();
    throw unusable(path, error);
  }
}

function assertUsable(db: DatabaseSync, path: string, migrates: boolean): void {
  assertOurs(db, path, migrations.length);
  if (!migrates) assertMigrated(db, path, migrations.length);
}

/**
 * Gives the space of the write-ahead log back to the disk where it has grown beyond its limit: by a large transaction, or
 * while another program read and the log could not be copied. Waits for nobody; the next commit tries again.
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
    `${path} cannot be used: its file system has no shared memory for SQLite's write-ahead log. Use a local disk.`,
  );
}
