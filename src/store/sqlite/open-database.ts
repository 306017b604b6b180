import { statSync } from "node:fs";
import { pathToFileURL } from "node:url";
import type { StoreOwner } from "../../task/queue.ts";
import { HoldfastError } from "../../task/fault.ts";
import { connect, primaryCode, sqliteCode } from "./connect.ts";
import { readTask, Statements, unusable } from "./statements.ts";
import { assertMigrated, migrations, userVersion } from "./schema.ts";
import { existingDatabase, refuseToReplace } from "./open-file.ts";
import { refuseBesideOriginal } from "./original-mark.ts";
import { createFile, type FileMode, lockMode } from "./private-files.ts";
import {
  describeOwners,
  type FileLock,
  isLocked,
  type KnownOwner,
  lockOwner,
  SqliteOwners,
  tryLock,
} from "./sqlite-owners.ts";

import { assertNodeVersion } from "../../task/package.ts";
import type { StoredTasks } from "../export-journal.ts";
import type { KeyRing } from "../encryption-keys.ts";
import { Protection } from "../protection.ts";
import { entryOf, secretsOf, unfinishedIn } from "../task-reads.ts";
import { taskStatements } from "./sql.ts";
import { SqliteReader } from "./sqlite-reader.ts";

/** The schema and patience of a start. */
export interface OpenSettings {
  /** The schema version to which it migrates. */
  readonly schema: number;
  /** How often it checks whether other processes have ended, and the pause in between. */
  readonly looks: number;
  readonly pauseMs: number;
  /** Of the files that it makes. */
  readonly fileMode: FileMode;
}

/** Waits for 10 seconds. */
const usual: OpenSettings = { schema: migrations.length, looks: 100, pauseMs: 100, fileMode: 0o600 };

/** How long a check waits while an owner recovers the log after another one died, which takes much less. */
const recoveryMs = 1_000;

/**
 * Makes a process an owner of a database, and runs `join` while no other process opens it. Processes of one schema open it at the same
 * time; one with a newer schema waits for those of older ones to end, and then rejects with `store_locked` and their names. A restored
 * database also rejects so, while others have the backup's original open.
 */
export async function openDatabase<T>(
  path: string,
  owner: StoreOwner,
  join: () => Promise<T>,
  given: Partial<OpenSettings> = {},
): Promise<{ readonly lock: FileLock; readonly joined: T }> {
  const settings = { ...usual, ...given };
  const opening = await lockForOpening(path, owner, settings);
  try {
    refuseToReplace(path);
    refuseBesideOriginal(path);
    createFile(path, settings.fileMode);
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

/** Keeps others from opening a database; throws `store_locked` while somebody does. Processes that have it open continue. */
export function keepClosed(path: string): FileLock {
  createFile(openingFile(path), lockMode(path, 0o600));
  const lock = tryLock(openingFile(path));
  if (typeof lock === "string") throw locked(path, []);
  return lock;
}

/** The lock is on a file beside the database. */
async function lockForOpening(path: string, { id }: StoreOwner, settings: OpenSettings): Promise<FileLock> {
  const { looks, pauseMs } = settings;
  for (let look = 1; ; look++) {
    const lock = tryToOpen(path, id, settings);
    if ("release" in lock) return lock;
    if (look === looks) throw locked(path, lock.inTheWay);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/** The lock, or the processes in the way, if they are known. */
function tryToOpen(
  path: string,
  own: string,
  { schema, fileMode }: OpenSettings,
): FileLock | { readonly inTheWay: readonly KnownOwner[] } {
  const file = openingFile(path);
  createFile(file, lockMode(path, fileMode));
  const lock = tryLock(file);
  if (typeof lock === "string") return { inTheWay: [] };
  try {
    const inTheWay = ownersOfOlderSchema(path, own, schema);
    if (inTheWay.length === 0) return lock;
    lock.release();
    return { inTheWay };
  } catch (error) {
    lock.release();
    throw error;
  }
}

function openingFile(path: string): string {
  return `${path}.lock`;
}

/** Living owners whose schema a migration would change. */
function ownersOfOlderSchema(path: string, own: string, schema: number): readonly KnownOwner[] {
  try {
    if (statSync(path, { throwIfNoEntry: false }) === undefined) return [];
    const db = connect(path, { readOnly: true, timeout: recoveryMs });
    try {
      const version = userVersion(db);
      if (version === 0 || version >= schema) return [];
      return new SqliteOwners(new Statements(db)).all().filter(({ id }) => id !== own && isLocked(path, id));
    } finally {
      db.close();
    }
  } catch (error) {
    // The database is as a crash left it, readable only by a writer: nobody has it open.
    const code = primaryCode(error);
    if (code === sqliteCode.busy || code === sqliteCode.readonly) return [];
    throw unusable(path, error);
  }
}

function locked(path: string, older: readonly KnownOwner[]): HoldfastError {
  const problem =
    older.length > 0
      ? `in use by an older version of Holdfast (${describeOwners(older)}), and this version has to change its tables. Stop the older one`
      : "being opened by another process, which does not finish. Stop that process";
  return new HoldfastError("store_locked", `${path} is ${problem}, or choose another file.`);
}

/** How long a read waits while another process recovers the log. */
const busyMs = 5_000;
/** How often a file is read again if others begin to use it during the read. */
const mostReads = 5;

/**
 * Reads tasks of a database in one consistent view, without being one of its owners. Creates and changes nothing in it or beside it, and
 * processes that have it open do not notice. Rejects with `store_unusable` if there is no such file, or if it is not ours or of another
 * schema.
 */
export async function readDatabase<T>(
  path: string,
  read: (tasks: StoredTasks) => T | Promise<T>,
  keys?: KeyRing,
): Promise<T> {
  assertNodeVersion(process.versions.node);
  const file = existingDatabase(path);
  for (let attempt = 1; ; attempt++) {
    const before = stateOf(file);
    const isLast = attempt === mostReads;
    try {
      const result = await readOnce(file, before.inUse || isLast, read, keys);
      if (before.inUse || isLast || stateOf(file).stamp === before.stamp) return result;
    } catch (error) {
      // If another process began to write during the read, the result may be anything.
      if (before.inUse || isLast || stateOf(file).stamp === before.stamp) throw unusable(file, error);
    }
  }
}

/** Without a log nobody has the file open, so it is opened as immutable. Any other reader would leave an empty log and its index behind. */
async function readOnce<T>(
  file: string,
  inUse: boolean,
  read: (tasks: StoredTasks) => T | Promise<T>,
  keys: KeyRing | undefined,
): Promise<T> {
  const url = pathToFileURL(file);
  if (!inUse) url.searchParams.set("immutable", "1");
  const db = connect(url, { readOnly: true, timeout: busyMs });
  try {
    assertMigrated(db, file);
    const reader = new SqliteReader(new Statements(db));
    db.exec("BEGIN");
    const sealing = await Protection.readOnly(
      (name) => reader.read(() => secretsOf(taskStatements, name)),
      keys,
    );
    if (sealing !== undefined) reader.encrypt(sealing);
    return await read(storedTasks(reader));
  } finally {
    db.close();
  }
}

function storedTasks(reader: SqliteReader): StoredTasks {
  const of = async <T>(id: string, read: () => T): Promise<T> => readTask(id, read);
  return {
    get: (id) => of(id, () => reader.task(id)),
    snapshot: (id, isVisible = () => true) => of(id, () => reader.snapshot(id, isVisible)),
    request: (id) => of(id, () => reader.request(id)),
    journal: (id, from, limit) => of(id, () => reader.journal(id, from, limit)),
    journalEntry: (id, key) => of(id, () => reader.read((codec) => entryOf(taskStatements, codec, id, key))),
    unfinished: async (after, limit) =>
      reader.read((codec) => unfinishedIn(taskStatements, codec, after, limit)),
  };
}

/** `stamp` changes when another process changes the file, or opens it to write. */
function stateOf(file: string): { readonly inUse: boolean; readonly stamp: string } {
  const isThere = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined;
  const inUse = isThere(`${file}-wal`) || isThere(`${file}-journal`);
  const stats = statSync(file, { throwIfNoEntry: false, bigint: true });
  return { inUse, stamp: [inUse, stats?.ino, stats?.size, stats?.mtimeNs].join(" ") };
}
