import { statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { hostname } from "node:os";
import { HoldfastError } from "../../task/fault.ts";
import type { Query } from "../dialect.ts";
import { type LoadMark, loadMarkSql, loadTable, markIn, refuseWhileLoading } from "../load-mark.ts";
import { columnsOf, text } from "../row.ts";
import { connect, primaryCode, sqliteCode } from "./connect.ts";
import { Statements, unusable } from "./statements.ts";
import { describeOwners, isAnyLocked, isLocked, type KnownOwner, SqliteOwners } from "./sqlite-owners.ts";

/** The database that was dumped. */
export interface Original {
  readonly host: string;
  readonly path: string;
  /** Identifies the file, in case another one takes its place. */
  readonly file: string;
}

/** How long to wait while an owner recovers the log. */
const busyMs = 1_000;

// The mark is a separate table, only in restored databases: no schema contains it, so that backups of all versions can have one.
const createMark =
  "CREATE TABLE restored_from (host TEXT NOT NULL, path TEXT NOT NULL, file TEXT NOT NULL) STRICT";
const insertMark = "INSERT INTO restored_from (host, path, file) VALUES (?, ?, ?)";
const selectTable = "SELECT name FROM sqlite_schema WHERE name = ?";
const selectMark = "SELECT host, path, file FROM restored_from";
const dropMark = "DROP TABLE IF EXISTS restored_from";

const at = columnsOf(["host", "path", "file"]);

/** What marks a database as a copy of the original; undefined: it may run beside the original. */
export function marksOriginal(original: Original | undefined): readonly Query[] {
  const drop = { sql: dropMark, values: [] };
  if (original === undefined) return [drop];
  const { host, path, file } = original;
  return [drop, { sql: createMark, values: [] }, { sql: insertMark, values: [host, path, file] }];
}

/**
 * Throws `store_locked` while a dump is being loaded into this database, and while living owners have its original open: both would run the
 * same tasks. Once none has, it is a database like any other. The caller must keep others from becoming an owner.
 */
export function refuseBesideOriginal(path: string): void {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return;
  const original = originalIn(path);
  if (original === undefined) return;
  const owners = ownersOf(original, path);
  if (owners.length > 0) {
    throw new HoldfastError(
      "store_locked",
      `${path} was loaded from a dump of ${original.path}, which is in use by ${describeOwners(owners)}: both would run the same tasks. Stop it first, or load the dump into another store with --beside if both should run.`,
    );
  }
  withDatabase(path, false, (db) => db.exec(dropMark));
}

/** Throws `store_locked` while living owners have the original of a dump open that is loaded into another kind of database. */
export function refuseWhileOriginalRuns({
  host = "",
  path = "",
  file = "",
}: Readonly<Record<string, string>>): void {
  const owners = ownersOf({ host, path, file }, "");
  if (owners.length === 0) return;
  throw new HoldfastError(
    "store_locked",
    `The dump is of ${path}, which is in use by ${describeOwners(owners)}: both stores would run the same tasks. Stop it, and load a last dump that was made with --since; or load this one with --beside if both should run.`,
  );
}

function originalIn(path: string): Original | undefined {
  try {
    return withDatabase(path, true, (db) => readMark(db, path));
  } catch (error) {
    // The database is as a crash left it, readable only by a writer.
    const code = primaryCode(error);
    if (code !== sqliteCode.busy && code !== sqliteCode.readonly) throw unusable(path, error);
    return withDatabase(path, false, (db) => readMark(db, path));
  }
}

function readMark(db: DatabaseSync, path: string): Original | undefined {
  const statements = new Statements(db);
  refuseWhileLoading(path, loadMark(statements) !== undefined);
  if (statements.get(selectTable, "restored_from") === undefined) return undefined;
  const row = statements.get(selectMark);
  if (row === undefined) return undefined;
  return { host: text(row, at.host), path: text(row, at.path), file: text(row, at.file) };
}

/** Processes of this machine that have the original open. */
function ownersOf({ host, path: original, file }: Original, path: string): readonly KnownOwner[] {
  if (host !== hostname() || original === path) return [];
  const stats = statSync(original, { throwIfNoEntry: false, bigint: true });
  if (stats === undefined || String(stats.ino) !== file || !isAnyLocked(original)) return [];
  try {
    return withDatabase(original, true, (db) =>
      new SqliteOwners(new Statements(db))
        .all()
        .filter(({ id, retired }) => !retired && isLocked(original, id)),
    );
  } catch (error) {
    // A process that has it open has already recovered its log.
    if (primaryCode(error) === sqliteCode.readonly) return [];
    throw unusable(original, error);
  }
}

function withDatabase<T>(path: string, readOnly: boolean, use: (db: DatabaseSync) => T): T {
  const db = connect(path, { readOnly, timeout: busyMs });
  try {
    return use(db);
  } finally {
    db.close();
  }
}

export function loadMark(statements: Statements): LoadMark | undefined {
  if (statements.get(selectTable, loadTable) === undefined) return undefined;
  return statements.read(markIn(loadMarkSql(loadTable, "sqlite")));
}
