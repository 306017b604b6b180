import type { DatabaseSync } from "node:sqlite";
import { HoldfastError } from "../../task/fault.ts";

/** "HOLD" in ASCII: marks a file as ours in its header. */
export const applicationId = 0x484f4c44;

export function userVersion(db: DatabaseSync): number {
  return number(db, "PRAGMA user_version");
}

/**
 * Throws `store_unusable` unless the database is empty, or ours and not newer than `knownVersion`. Only reads: other programs' files must
 * stay as they are.
 */
export function assertOurs(db: DatabaseSync, path: string, knownVersion: number): void {
  const { application, version, objects } = headerOf(db);
  if (application === applicationId) {
    if (version <= knownVersion) return;
    throw new HoldfastError(
      "store_unusable",
      `${path} was written by a newer Holdfast (schema ${version}, this one knows ${knownVersion}). Update Holdfast, or choose another file.`,
    );
  }
  if (application === 0 && version === 0 && objects === 0) return;
  throw new HoldfastError(
    "store_unusable",
    `${path} is the SQLite database of another program. Holdfast needs a file of its own: choose another path.`,
  );
}

/** Throws `store_unusable` for a database with an older schema or none, which must not be migrated. */
export function assertMigrated(db: DatabaseSync, path: string, knownVersion: number): void {
  const version = userVersion(db);
  if (version === knownVersion) return;
  throw new HoldfastError(
    "store_unusable",
    `${path} was written by an older Holdfast (schema ${version}, this one reads ${knownVersion}). Use the version that serves it, or let a server of this one open it.`,
  );
}

interface Header {
  readonly application: number;
  readonly version: number;
  readonly objects: number;
}

/** In one consistent view: another process may be creating the tables. */
function headerOf(db: DatabaseSync): Header {
  db.exec("BEGIN");
  try {
    return {
      application: number(db, "PRAGMA application_id"),
      version: userVersion(db),
      objects: number(db, "SELECT count(*) FROM sqlite_schema"),
    };
  } finally {
    if (db.isTransaction) db.exec("ROLLBACK");
  }
}

/** The number that a statement returns. */
export function number(db: DatabaseSync, sql: string): number {
  const [value] = Object.values(db.prepare(sql).get() ?? {});
  return Number(value);
}
