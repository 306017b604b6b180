import type { DatabaseSync } from "node:sqlite";
import type { KeyRing } from "../encryption-keys.ts";
import { keyUsageOf, type KeyUsage } from "../key-usage.ts";
import { resealDatabase, type Resealed, type ResealSetup, type RewrittenDatabase } from "../reseal.ts";
import { beginWrite } from "./begin-write.ts";
import { compactSqlite, openWritable } from "./compact-sqlite.ts";
import { Statements } from "./statements.ts";
import { unusable } from "./unusable.ts";

/** How long to wait for the turn to write. */
const turnMs = 10_000;

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
