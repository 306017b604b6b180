import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { DatabaseSync } from "node:sqlite";
import { HoldfastError } from "../../task/fault.ts";
import { connect } from "./connect.ts";
import { createFile, createFolder, lockMode } from "./private-files.ts";
import { primaryCode, sqliteCode } from "./sqlite-error.ts";
import { unusable } from "./unusable.ts";

// A lock is an open transaction on an empty SQLite database. SQLite's locks work between processes on every platform. The kernel
// releases them when their process ends for any reason; a stopped process keeps its locks.

const ownerId = /^[\w-]{1,64}$/;

/** The folder beside a database in which its owners hold their locks. */
export function ownersFolder(path: string): string {
  return `${path}.owners`;
}

function lockFile(path: string, owner: string): string {
  return join(ownersFolder(path), owner);
}

/** A lock that is held until it is released, or its process ends. */
export interface FileLock {
  /** Has an effect only once. */
  release(): void;
}

/** Locks the file of an owner, so that others can check it; throws `store_unusable`. */
export function lockOwner(path: string, owner: string): FileLock {
  if (!ownerId.test(owner)) {
    throw new HoldfastError(
      "configuration",
      `${JSON.stringify(owner)} is not a valid owner id: use 1 to 64 letters, digits, "_" or "-".`,
    );
  }
  const file = lockFile(path, owner);
  try {
    const mode = lockMode(path, 0o600);
    createFolder(ownersFolder(path), mode);
    if (!createFile(file, mode)) throw new Error("it exists already");
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

/** Whether an owner holds its lock, so its process lives. Throws `store_unusable` if that is unknown. */
export function isLocked(path: string, owner: string): boolean {
  const lock = ownerId.test(owner) ? tryLock(lockFile(path, owner)) : "removed";
  if (typeof lock === "string") return lock === "locked";
  lock.release();
  return false;
}

/** Does nothing if it is gone. On some platforms it cannot be removed while others check it; it then stays. */
export function removeLockFile(path: string, owner: string): void {
  try {
    rmSync(lockFile(path, owner), { force: true });
  } catch {
    // It is empty, and nobody asks for it any more.
  }
}

/** Whether anyone holds a lock beside a database, even if the database no longer exists. */
export function isAnyLocked(path: string): boolean {
  return lockFiles(path).some((name) => isLocked(path, name));
}

/** Removes files of processes that ended before they became owners, if possible. The caller must keep others from becoming an owner. */
export function removeLockFilesBut(path: string, owners: ReadonlySet<string>): void {
  for (const name of lockFiles(path))
    if (!owners.has(name) && !isLocked(path, name)) removeLockFile(path, name);
}

function lockFiles(path: string): readonly string[] {
  try {
    return readdirSync(ownersFolder(path));
  } catch {
    return [];
  }
}

/**
 * Locks a file without changing it. `removed`: it does not exist; `locked`: another connection has the lock, of this process or another.
 * Any other failure throws `store_unusable`, and says nothing about the lock.
 */
export function tryLock(file: string): FileLock | "locked" | "removed" {
  const url = pathToFileURL(file);
  url.searchParams.set("mode", "rw"); // a missing file is not created
  let db: DatabaseSync;
  try {
    db = connect(url, { timeout: 0 });
  } catch (error) {
    // For example, a process that may open no more files gets the same code.
    if (primaryCode(error) === sqliteCode.cannotOpen && isRemoved(file)) return "removed";
    throw unusable(file, error);
  }
  try {
    db.exec("PRAGMA journal_mode = MEMORY"); // otherwise the first transaction of an empty file creates another file beside it
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
