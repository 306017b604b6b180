import { statSync } from "node:fs";
import { pathToFileURL } from "node:url";
import type { DatabaseSync } from "node:sqlite";
import { connect } from "./connect.ts";
import { existingDatabase } from "./database-path.ts";
import { assertMigrated } from "./migrate.ts";
import { isBusy } from "./sqlite-error.ts";
import { unusable } from "./unusable.ts";

/** How long to wait for other readers and writers. */
const busyMs = 10_000;

/** The size of a database on disk, with its log, in bytes. */
export function sizeOfSqlite(path: string): number {
  const file = existingDatabase(path);
  const sizeOf = (name: string): number => statSync(name, { throwIfNoEntry: false })?.size ?? 0;
  return sizeOf(file) + sizeOf(`${file}-wal`);
}

/**
 * Frees unused space. With `rewrite`, rewrites the database, so that no deleted data is left in it; other writers wait meanwhile. Otherwise
 * only empties the log. Returns false if others prevented that. Only for a process that is one of the owners.
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

/** Runs `write` on a separate write connection, besides those of the owners. */
export function withWritable<T>(path: string, write: (db: DatabaseSync) => T): T {
  const db = openWritable(path);
  try {
    return write(db);
  } catch (error) {
    throw unusable(existingDatabase(path), error);
  } finally {
    db.close();
  }
}

/** Such a connection. */
export function openWritable(path: string): DatabaseSync {
  const file = existingDatabase(path);
  let db: DatabaseSync | undefined;
  try {
    const url = pathToFileURL(file);
    url.searchParams.set("mode", "rw");
    db = connect(url, { timeout: busyMs });
    assertMigrated(db, file);
    db.exec("PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON");
    return db;
  } catch (error) {
    db?.close();
    throw unusable(file, error);
  }
}

/** Copies the log into the database and empties it; false if somebody still reads its old content. */
function emptyLog(db: DatabaseSync): boolean {
  return Number(db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()?.["busy"] ?? 1) === 0;
}
