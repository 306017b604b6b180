import { statSync } from "node:fs";
import { pathToFileURL } from "node:url";
import type { DatabaseSync } from "node:sqlite";
import { connect } from "./connect.ts";
import { assertMigrated, assertOurs } from "./database-header.ts";
import { existingDatabase } from "./database-path.ts";
import { migrations } from "./migrate.ts";
import { isBusy } from "./sqlite-error.ts";
import { unusable } from "./unusable.ts";

/** How long it waits for those who read or write. */
const busyMs = 10_000;

/** What a database takes on disk, with its log, in bytes. */
export function sizeOfSqlite(path: string): number {
  const file = existingDatabase(path);
  const sizeOf = (name: string): number => statSync(name, { throwIfNoEntry: false })?.size ?? 0;
  return sizeOf(file) + sizeOf(`${file}-wal`);
}

/**
 * Gives free space back. With `rewrite` the database is written anew, so that nothing is left in it of what was deleted; others that write wait meanwhile. Otherwise only the
 * log is emptied. Resolves with false where others kept it from either. Only for a process that is one of the owners.
 */
export function compactSqlite(path: string, rewrite: boolean): boolean {
  return withWritable(path, (db) => {
    try {
      if (rewrite) db.exec("VACUUM");
      return emptyLog(db);
    } catch (error) {
      if (isBusy(error)) return false;
      throw error;
    }
  });
}

/** Runs `write` on a connection that may write, beside those of the owners. */
export function withWritable<T>(path: string, write: (db: DatabaseSync) => T): T {
  const file = existingDatabase(path);
  try {
    const url = pathToFileURL(file);
    url.searchParams.set("mode", "rw");
    const db = connect(url, { timeout: busyMs });
    try {
      assertOurs(db, file, migrations.length);
      assertMigrated(db, file, migrations.length);
      db.exec("PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON");
      return write(db);
    } finally {
      db.close();
    }
  } catch (error) {
    throw unusable(file, error);
  }
}

/** Copies the log into the database and cuts it to nothing; false where somebody still reads what stood there before. */
function emptyLog(db: DatabaseSync): boolean {
  return Number(db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()?.["busy"] ?? 1) === 0;
}
