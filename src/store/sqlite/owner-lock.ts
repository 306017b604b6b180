import { closeSync, mkdirSync, openSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { DatabaseSync } from "node:sqlite";
import { HoldfastError } from "../../task/fault.ts";
import { connect } from "./connect.ts";
import { primaryCode, sqliteCode } from "./sqlite-error.ts";
import { unusable } from "./unusable.ts";

// A lock is an open transaction on an empty SQLite database: SQLite's locks work between processes on every platform, the
// kernel ends them with their process, however that ends, and a process that is stopped keeps its own.

const ownerId = /^[\w-]{1,64}$/;

/** The folder beside a database in which its owners hold their locks. */
export function ownersFolder(path: string): string {
  return `${path}.owners`;
}

function lockFile(path: string, owner: string): string {
  return join(ownersFolder(path), owner);
}

/** Holds a lock until it is released, or its process ends. */
export interface FileLock {
  /** Does nothing once it was called. */
  release(): void;
}

/** Locks the file of an owner, which others find out by; throws `store_unusable`. */
export function lockOwner(path: string, owner: string): FileLock {
  if (!ownerId.test(owner)) {
    throw new HoldfastError("configuration", `${JSON.stringify(owner)} is not the id of an owner.`);
  }
  const file = lockFile(path, owner);
  try {
    mkdirSync(ownersFolder(path), { recursive: true });
    closeSync(openSync(file, "wx"));
  } catch (error) {
    throw unusable(file, error);
  }
  const lock = tryLock(file);
  if (typeof lock === "string") {
    throw new HoldfastError("store_unusable", `${file} was ${lock} by another program. Try again.`);
  }
  return {
    release: () => {
      lock.release();
      removeLockFile(path, owner);
    },
  };
}

/** Whether an owner holds its lock: its process lives. Throws `store_unusable` where that cannot be found out. */
export function isLocked(path: string, owner: string): boolean {
  const lock = ownerId.test(owner) ? tryLock(lockFile(path, owner)) : "removed";
  if (typeof lock === "string") return lock === "locked";
  lock.release();
  return false;
}

/** Does nothing where it is gone; on some platforms it cannot be removed while somebody looks at it, and stays. */
export function removeLockFile(path: string, owner: string): void {
  try {
    rmSync(lockFile(path, owner), { force: true });
  } catch {
    // It is empty, and nobody asks for it any more.
  }
}

/** Whether somebody holds a lock beside a database, be it one that is not there any more. */
export function isAnyLocked(path: string): boolean {
  return lockFiles(path).some((name) => isLocked(path, name));
}

/**
 * Removes what is left of processes that ended before they became owners, as far as it can be. Only for who keeps others from
 * becoming one.
 */
export function removeLockFilesBut(path: string, owners: ReadonlySet<string>): void {
  for (const name of lockFiles(path)) if (!owners.has(name)) removeLockFile(path, name);
}

function lockFiles(path: string): readonly string[] {
  try {
    return readdirSync(ownersFolder(path));
  } catch {
    return [];
  }
}

/**
 * Locks a file, which is left as it is: `removed` where it is not there, `locked` where another connection has the lock, of this
 * process or of another. Any other failure throws `store_unusable`, and says nothing about who has the lock.
 */
export function tryLock(file: string): FileLock | "locked" | "removed" {
  const url = pathToFileURL(file);
  url.searchParams.set("mode", "rw"); // a file that is not there is not created
  let db: DatabaseSync;
  try {
    db = connect(url, { timeout: 0 });
  } catch (error) {
    // A process that may open no more files, for one, gets the same code.
    if (primaryCode(error) === sqliteCode.cannotOpen && isRemoved(file)) return "removed";
    throw unusable(file, error);
  }
  try {
    db.exec("PRAGMA journal_mode = MEMORY"); // else the first transaction of an empty file puts another one beside it
    db.exec("BEGIN IMMEDIATE");
    return { release: () => (db.isOpen ? db.close() : undefined) };
  } catch (error) {
    db.close();
    if (primaryCode(error) === sqliteCode.busy) return "locked";
    throw unusable(file, error);
  }
}

function isRemoved(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) === undefined;
  } catch (error) {
    throw unusable(file, error);
  }
}
