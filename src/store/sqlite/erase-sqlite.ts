import type { DatabaseSync } from "node:sqlite";
import type { Erased } from "../erased.ts";
import { idOf } from "../row.ts";
import { toStored } from "../stored-text.ts";
import { beginWrite } from "./begin-write.ts";
import { ChangeLog } from "./change-log.ts";
import { withWritable } from "./compact-sqlite.ts";
import * as erase from "./erase-sql.ts";
import { Statements } from "./statements.ts";

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
    const ids = statements.all(erase.selectEnded, toStored(principal)).map(idOf);
    for (let from = 0; from < ids.length; from += atOnce) {
      inTransaction(db, () => eraseTasks(statements, ids.slice(from, from + atOnce), counts));
    }
    inTransaction(db, () => {
      for (const [table, sql] of Object.entries(erase.deletesOfPrincipal))
        add(counts, table, statements.run(sql, toStored(principal)));
      add(counts, "piece", statements.run(erase.deleteLeftPieces));
      // A gap replaces the changes that others have not read.
      new ChangeLog(statements, "").appendGap();
      db.exec(erase.deleteAllButNewestChange);
    });
    const left = statements.all(erase.selectLeft, toStored(principal)).map(idOf);
    return { rows: Object.fromEntries(counts), left };
  });
}

function eraseTasks(statements: Statements, ids: readonly string[], counts: Map<string, number>): void {
  for (const [table, sql] of Object.entries(erase.deletesOfTask)) {
    for (const id of ids) add(counts, table, statements.run(sql, toStored(id)));
  }
}

function add(counts: Map<string, number>, table: string, changes: number): void {
  counts.set(table, (counts.get(table) ?? 0) + changes);
}

function inTransaction(db: DatabaseSync, write: () => void): void {
  beginWrite(db, turnMs);
  try {
    write();
    db.exec("COMMIT");
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}
