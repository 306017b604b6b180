import { closeSync, mkdirSync, openSync, rmSync } from "node:fs";
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
  if (lock === undefined) throw new HoldfastError("store_unusable", `${file} is locked by another owner.`);
  return {
    release: () => {
      lock.release();
      removeLockFile(path, owner);
    },
  };
}

/** Whether an owner holds its lock: its process lives. */
export function isLocked(path: string, owner: string): boolean {
  const lock = ownerId.test(owner) ? tryLock(lockFile(path, owner)) : noLock;
  lock?.release();
  return lock === undefined;
}

/** Does nothing where it is gone; on some platforms it cannot be removed while somebody looks at it, and stays. */
export function removeLockFile(path: string, owner: string): void {
  try {
    rmSync(lockFile(path, owner), { force: true });
  } catch {
    // It is empty, and nobody asks for it any more.
  }
}

const noLock: FileLock = { release: () => undefined };

/** Locks a file that is there; undefined where another connection, of this process or of another, holds its lock. */
export function tryLock(file: string): FileLock | undefined {
  const url = pathToFileURL(file);
  url.searchParams.set("mode", "rw"); // a file that is not there is not created
  let db: DatabaseSync;
  try {
    db = connect(url, { timeout: 0 });
  } catch (error) {
    if (primaryCode(error) === sqliteCode.cannotOpen) return noLock;
    throw unusable(file, error);
  }
  try {
    db.exec("BEGIN IMMEDIATE");
    return { release: () => db.close() };
  } catch (error) {
    db.close();
    if (primaryCode(error) === sqliteCode.busy) return undefined;
    throw unusable(file, error);
  }
}
