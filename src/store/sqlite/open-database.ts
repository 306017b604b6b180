import { statSync, writeFileSync } from "node:fs";
import type { StoreOwner } from "../../task/owner.ts";
import { HoldfastError } from "../../task/fault.ts";
import { connect } from "./connect.ts";
import { userVersion } from "./database-header.ts";
import { migrations } from "./migrate.ts";
import { isLocked, lockOwner, tryLock, type FileLock } from "./owner-lock.ts";
import { describeOwners, SqliteOwners, type KnownOwner } from "./sqlite-owners.ts";
import { primaryCode, sqliteCode } from "./sqlite-error.ts";
import { unusable } from "./unusable.ts";

/** How often a start looks whether those that it waits for have ended, and how many times: 10 seconds. */
const lookEveryMs = 100;
const mostLooks = 100;

/** The first schema that several processes may use at a time. */
const firstShared = 11;

/**
 * Makes a process an owner of a database, and runs `join` while no other process opens it. Processes of one schema open it at
 * the same time; one with a newer schema waits until those of older ones have ended, and then rejects with `store_locked` and
 * their names.
 */
export async function openDatabase<T>(
  path: string,
  owner: StoreOwner,
  join: () => Promise<T>,
): Promise<{ readonly lock: FileLock; readonly joined: T }> {
  const opening = await lockForOpening(path, owner);
  try {
    const lock = lockOwner(path, owner.id);
    try {
      return { lock, joined: await join() };
    } catch (error) {
      lock.release();
      throw error;
    }
  } finally {
    opening.release();
  }
}

/**
 * The lock is on a file beside the database. Before there were several owners, a process held it as long as it had the
 * database open.
 */
async function lockForOpening(path: string, { id }: StoreOwner): Promise<FileLock> {
  const file = `${path}.lock`;
  createFile(file);
  for (let looks = 1; ; looks++) {
    const lock = tryLock(file);
    const inTheWay = lock === undefined ? undefined : ownersOfOlderSchema(path, id);
    if (lock !== undefined && inTheWay?.length === 0) return lock;
    lock?.release();
    if (looks === mostLooks) throw locked(path, inTheWay);
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
  }
}

function createFile(file: string): void {
  try {
    if (statSync(file, { throwIfNoEntry: false }) === undefined) writeFileSync(file, "", { flag: "a" });
  } catch (error) {
    throw unusable(file, error);
  }
}

/** Living owners that a migration would take the schema from. */
function ownersOfOlderSchema(path: string, own: string): readonly KnownOwner[] {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return [];
  try {
    const db = connect(path, { readOnly: true });
    try {
      const version = userVersion(db);
      if (version < firstShared || version >= migrations.length) return [];
      return new SqliteOwners(db).all().filter(({ id }) => id !== own && isLocked(path, id));
    } finally {
      db.close();
    }
  } catch (error) {
    // What only a writing connection can read was left by a crash: nobody has it open.
    const code = primaryCode(error);
    if (code === sqliteCode.busy || code === sqliteCode.readonly) return [];
    throw unusable(path, error);
  }
}

function locked(path: string, owners: readonly KnownOwner[] | undefined): HoldfastError {
  const problem =
    owners === undefined
      ? "another process that is opening it, or that runs a version which needs it alone"
      : `an older version: ${describeOwners(owners)}`;
  return new HoldfastError(
    "store_locked",
    `${path} is in use by ${problem}. Stop it, or choose another file.`,
  );
}
