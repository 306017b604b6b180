import type { DatabaseSync } from "node:sqlite";
import { HoldfastError } from "../../task/fault.ts";
import { connect } from "./connect.ts";
import { migrations } from "./schema.ts";

/** "HOLD" in ASCII: marks a file as ours in its header. */
export const applicationId = 0x484f4c44;

export function userVersion(db: DatabaseSync): number {
  return number(db, "PRAGMA user_version");
}

/** Brings the schema of a database up to date, in one commit: if a migration fails, the database is unchanged. */
export function migrate(db: DatabaseSync, known: readonly string[] = migrations): void {
  const missing = known.slice(userVersion(db));
  if (missing.length === 0) return;
  db.exec("BEGIN IMMEDIATE");
  try {
    for (const migration of missing) db.exec(migration);
    db.exec(`PRAGMA application_id = ${applicationId}`);
    db.exec(`PRAGMA user_version = ${known.length}`);
    db.exec("COMMIT");
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

/**
 * Throws `store_unusable` unless the database is empty, or ours and not newer than `known`. Only reads: other programs' files must stay as
 * they are.
 */
export function assertOurs(db: DatabaseSync, path: string, known: readonly string[] = migrations): void {
  const { application, version, objects } = headerOf(db);
  if (application === applicationId) {
    if (version <= known.length) return;
    throw new HoldfastError(
      "store_unusable",
      `${path} was written by a newer version of Holdfast (schema ${version}; this version knows schema ${known.length}). Update Holdfast, or choose another file.`,
    );
  }
  if (application === 0 && version === 0 && objects === 0) return;
  throw new HoldfastError(
    "store_unusable",
    `${path} is the SQLite database of another program. Holdfast needs its own file: choose another path.`,
  );
}

/** The same, and throws also for a database that `migrate` would change. */
export function assertMigrated(db: DatabaseSync, path: string, known: readonly string[] = migrations): void {
  assertOurs(db, path, known);
  const version = userVersion(db);
  if (version === known.length) return;
  const problem =
    version === 0
      ? `${path} is empty. Start a server on it first: it creates the tables.`
      : `${path} was written by an older version of Holdfast (schema ${version}; this version needs schema ${known.length}). Start a server of this version on it, which upgrades it, or use the older version.`;
  throw new HoldfastError("store_unusable", problem);
}

/** Throws `store_unusable` if a part of the schema is missing: another program dropped it, or the file is damaged. */
export function assertComplete(db: DatabaseSync, path: string): void {
  const found = new Set(partsOf(db));
  const whole = connect(":memory:", {});
  migrate(whole);
  const missing = partsOf(whole).filter((part) => !found.has(part));
  whole.close();
  if (missing.length === 0) return;
  throw new HoldfastError(
    "store_unusable",
    `${path} is damaged: ${missing.join(", ")} ${missing.length === 1 ? "is" : "are"} missing. Restore a backup of it, or choose another file.`,
  );
}

/** Such as "table task". */
function partsOf(db: DatabaseSync): readonly string[] {
  const rows = db.prepare("SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'").all();
  return rows.map(({ type, name }) => `${String(type)} ${String(name)}`);
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
