import { hostname } from "node:os";
import type { DatabaseSync } from "node:sqlite";
import { HoldfastError } from "../../task/fault.ts";
import { connect } from "./connect.ts";
import { prepareRows } from "./row-statement.ts";
import { columnsOf, integer, text } from "./row.ts";
import { primaryCode, sqliteCode } from "./sqlite-error.ts";
import { unusable } from "./unusable.ts";

export interface FileLock {
  release(): void;
}

/** For the moments in which another process writes or reads the owner's row; the lock itself is never waited for. */
const rowTimeoutMs = 2000;

const insertOwner =
  "INSERT INTO owner (pid, host, since) VALUES (?, ?, strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))";

const ownerAt = columnsOf(["pid", "host", "since"]);

/**
 * Makes this process the one owner of a database, or throws `store_locked` with the owner's name. The lock is an
 * open transaction on a small database beside it: the kernel ends it with the process, however that ends, and the
 * database itself stays free for backup and inspection.
 */
export function takeFileLock(path: string): FileLock {
  const lockPath = `${path}.lock`;
  let db: DatabaseSync;
  try {
    db = connect(lockPath, { timeout: 0 });
  } catch (error) {
    throw unusable(lockPath, error);
  }
  try {
    beginOwning(db);
    writeOwner(db);
    beginOwning(db);
  } catch (error) {
    const fault = primaryCode(error) === sqliteCode.busy ? locked(path, db) : unusable(lockPath, error);
    db.close();
    throw fault;
  }
  return { release: () => db.close() };
}

function beginOwning(db: DatabaseSync): void {
  db.exec("PRAGMA busy_timeout = 0");
  db.exec("BEGIN IMMEDIATE");
}

/** Commits who owns the lock, so that others can read it while the lock is held; that leaves it free for a moment. */
function writeOwner(db: DatabaseSync): void {
  db.exec(`PRAGMA busy_timeout = ${rowTimeoutMs}`);
  db.exec(
    "CREATE TABLE IF NOT EXISTS owner (pid INTEGER NOT NULL, host TEXT NOT NULL, since TEXT NOT NULL) STRICT",
  );
  db.exec("DELETE FROM owner");
  db.prepare(insertOwner).run(process.pid, hostname());
  db.exec("COMMIT");
}

function locked(path: string, db: DatabaseSync): HoldfastError {
  return new HoldfastError(
    "store_locked",
    `${path} is in use by ${describeOwner(db)}. One process at a time can own it: stop that one, or choose another file.`,
  );
}

function describeOwner(db: DatabaseSync): string {
  try {
    if (db.isTransaction) db.exec("ROLLBACK");
    db.exec(`PRAGMA busy_timeout = ${rowTimeoutMs}`);
    const owner = prepareRows(db, "SELECT pid, host, since FROM owner").get();
    if (owner !== undefined) {
      return `process ${integer(owner, ownerAt.pid)} on ${text(owner, ownerAt.host)} since ${text(owner, ownerAt.since)}`;
    }
  } catch {
    // Who owns it is a courtesy; that it is owned is certain.
  }
  return "another process";
}
