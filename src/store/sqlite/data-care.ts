import { statSync } from "node:fs";
import { pathToFileURL } from "node:url";
import type { DatabaseSync } from "node:sqlite";
import { connect } from "./connect.ts";
import { Statements, unusable } from "./statements.ts";
import { existingDatabase } from "./open-file.ts";
import { assertMigrated } from "./schema.ts";
import { isBusy } from "./sqlite-error.ts";
import { tables } from "./admin-sql.ts";
import { type Erased, eraseRest, eraseSql, eraseTasks } from "../erased.ts";
import { idOf, toStored } from "../row.ts";
import { ChangeLog } from "./change-log.ts";
import type { KeyRing } from "../encryption-keys.ts";
import { type KeyUsage, keyUsageOf } from "../key-usage.ts";
import { resealDatabase, type Resealed, type ResealSetup, type RewrittenDatabase } from "../reseal.ts";

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
function withWritable<T>(path: string, write: (db: DatabaseSync) => T): T {
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
function openWritable(path: string): DatabaseSync {
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

const erase = eraseSql(tables, "sqlite");

/** All but the newest, whose number the next one follows. */
const deleteAllButNewestChange = "DELETE FROM change WHERE seq < (SELECT max(seq) FROM change)";

/** How long to wait for the turn to write. */
const turnMs = 10_000;
/** Tasks per transaction, which others have to wait for. */
const atOnce = 200;

/**
 * Deletes all rows of a principal's finished tasks, of the tasks below them, its sessions, and the owners' change log. A gap makes the
 * owners reread what they hold. Until the database is rewritten, free pages may contain deleted data.
 */
export function eraseFromSqlite(path: string, principal: string): Erased {
  return withWritable(path, (db) => {
    // Overwrites what is freed.
    db.exec("PRAGMA secure_delete = ON");
    const statements = new Statements(db);
    const counts = new Map<string, number>();
    const ids = statements.all(erase.ended, toStored(principal)).map(([id]) => String(id));
    for (let from = 0; from < ids.length; from += atOnce) {
      statements.transaction(turnMs, () =>
        statements.read(eraseTasks(erase, ids.slice(from, from + atOnce), counts)),
      );
    }
    statements.transaction(turnMs, () => {
      statements.read(eraseRest(erase, { ids, principal }, counts));
      // A gap replaces the changes that others have not read.
      new ChangeLog(statements, "").appendGap();
      db.exec(deleteAllButNewestChange);
    });
    const left = statements.all(erase.left, toStored(principal)).map(idOf);
    return { rows: Object.fromEntries(counts), left };
  });
}

/** Then rewrites the database, so that nothing is left of what was replaced; `isClean` is false if others kept it from that. */
export async function resealSqlite(
  path: string,
  setup: ResealSetup,
): Promise<Resealed & { readonly isClean: boolean }> {
  const db = openWritable(path);
  try {
    db.exec("PRAGMA secure_delete = ON");
    const resealed = await resealDatabase(rewritten(db), setup);
    return { ...resealed, isClean: compactSqlite(path, true) };
  } catch (error) {
    throw unusable(path, error);
  } finally {
    db.close();
  }
}

export async function keyUsageOfSqlite(path: string, keys: KeyRing | undefined): Promise<KeyUsage> {
  const db = openWritable(path);
  try {
    return await keyUsageOf(rewritten(db), keys);
  } catch (error) {
    throw unusable(path, error);
  } finally {
    db.close();
  }
}

function rewritten(db: DatabaseSync): RewrittenDatabase {
  const statements = new Statements(db);
  return {
    named: (table) => table,
    same: "IS",
    news: "change",
    read: async (sql, values) => statements.all(sql, ...values),
    write: async (all) =>
      statements.transaction(turnMs, () =>
        all.reduce((sum, { sql, values }) => sum + statements.run(sql, ...values), 0),
      ),
  };
}
