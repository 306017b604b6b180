import { statSync } from "node:fs";
import { pathToFileURL } from "node:url";
import type { DatabaseSync } from "node:sqlite";
import { connect } from "./connect.ts";
import { beginWrite, Statements, unusable } from "./statements.ts";
import { existingDatabase } from "./open-file.ts";
import { assertMigrated } from "./schema.ts";
import { isBusy } from "./sqlite-error.ts";
import * as taskSql from "./sql.ts";
import { limitStatements } from "./sqlite-limits.ts";
import { turnOfPrincipal } from "../limits.ts";
import type { Erased } from "../erased.ts";
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

/** The finished tasks of a principal. */
const selectEnded = "SELECT id FROM task WHERE principal = ? AND state IN ('settled', 'cancelled')";

/** Tasks that were created meanwhile, or are unreadable. */
const selectLeft = "SELECT id FROM task WHERE principal = ? ORDER BY id LIMIT 100";

/** By table. The task itself goes last, so that an interrupted deletion can be resumed. */
export const deletesOfTask: Readonly<Record<string, string>> = {
  message: taskSql.rows.deleteMessages,
  line: taskSql.rows.deleteLines,
  piece: taskSql.deleteAllPieces,
  event: taskSql.rows.deleteEvents,
  journal: taskSql.rows.deleteJournal,
  outcome: taskSql.rows.deleteOutcome,
  request: taskSql.rows.deleteRequest,
  child: taskSql.rows.deleteChild,
  action: "DELETE FROM action WHERE task_id = ?",
  // What selected the task was a text that it has.
  bulk_job: `DELETE FROM bulk_job WHERE text IS NOT NULL AND ended_at IS NOT NULL
    AND id IN (SELECT job FROM bulk_task WHERE task_id = ?)`,
  bulk_task: "DELETE FROM bulk_task WHERE task_id = ?",
  limit_place: limitStatements.deleteOfTask,
  task: taskSql.rows.deleteTask,
};

/** Of tasks that were deleted before. */
const deleteLeftPieces = "DELETE FROM piece WHERE NOT EXISTS (SELECT 1 FROM task WHERE id = task_id)";

const deleteLeftBulkTasks = "DELETE FROM bulk_task WHERE NOT EXISTS (SELECT 1 FROM bulk_job WHERE id = job)";

/** The starts of tasks that were deleted before. */
const deletePastPlaces = "DELETE FROM limit_place WHERE turn_of = ? AND phase = 'past'";

/** The key of a limit may be whom it limits. What a paused one has to wait for is said again by who paused it. */
const deleteKeyedLines = `DELETE FROM limit_line WHERE name LIKE '["%'
  AND NOT EXISTS (SELECT 1 FROM limit_place WHERE limit_place.name = limit_line.name)`;

/** Also for deleted tasks, and for the end of tasks that were cancelled for this. */
export const deletesOfPrincipal: Readonly<Record<string, string>> = {
  session: "DELETE FROM session WHERE principal = ?",
  delivery: "DELETE FROM delivery WHERE principal = ?",
  bulk_job: "DELETE FROM bulk_job WHERE principal = ?",
};

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
    const ids = statements.all(selectEnded, toStored(principal)).map(idOf);
    for (let from = 0; from < ids.length; from += atOnce) {
      inTransaction(db, () => eraseTasks(statements, ids.slice(from, from + atOnce), counts));
    }
    inTransaction(db, () => {
      for (const [table, sql] of Object.entries(deletesOfPrincipal))
        add(counts, table, statements.run(sql, toStored(principal)));
      add(counts, "piece", statements.run(deleteLeftPieces));
      add(counts, "bulk_task", statements.run(deleteLeftBulkTasks));
      add(counts, "limit_place", statements.run(deletePastPlaces, turnOfPrincipal(principal)));
      add(counts, "limit_line", statements.run(deleteKeyedLines));
      // A gap replaces the changes that others have not read.
      new ChangeLog(statements, "").appendGap();
      db.exec(deleteAllButNewestChange);
    });
    const left = statements.all(selectLeft, toStored(principal)).map(idOf);
    return { rows: Object.fromEntries(counts), left };
  });
}

function eraseTasks(statements: Statements, ids: readonly string[], counts: Map<string, number>): void {
  for (const [table, sql] of Object.entries(deletesOfTask)) {
    for (const id of ids) add(counts, table, statements.run(sql, toStored(id)));
  }
}

function add(counts: Map<string, number>, table: string, changes: number): void {
  counts.set(table, (counts.get(table) ?? 0) + changes);
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
    parameter: () => "?",
    same: "IS",
    news: "change",
    read: async (sql, values) => statements.all(sql, ...values),
    write: async (all) =>
      inTransaction(db, () => all.reduce((sum, { sql, values }) => sum + statements.run(sql, ...values), 0)),
  };
}

function inTransaction<T>(db: DatabaseSync, write: () => T): T {
  beginWrite(db, turnMs);
  try {
    const result = write();
    db.exec("COMMIT");
    return result;
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}
