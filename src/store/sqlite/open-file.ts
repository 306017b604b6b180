import { closeSync, fsyncSync, lstatSync, openSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { randomUUID } from "node:crypto";
import { pathToFileURL } from "node:url";
import type { DatabaseSync } from "node:sqlite";
import { HoldfastError } from "../../task/fault.ts";
import { createFolder, type FileMode } from "./private-files.ts";
import { connect, primaryCode, sqliteCode } from "./connect.ts";
import { unusable } from "./statements.ts";
import { isAnyLocked } from "./sqlite-owners.ts";
import * as sql from "./sql.ts";

const maxLinks = 40;

/**
 * The one name of a database file, whatever symbolic links lead to it: the lock uses it, and two names must not have two owners. Creates
 * missing directories; the file may be missing. Never opens the file: closing any descriptor of it would drop SQLite's locks.
 */
export function databasePath(path: string, fileMode: FileMode = 0o600): string {
  try {
    const real = realPath(resolve(path), maxLinks, fileMode);
    const stats = statSync(real, { throwIfNoEntry: false });
    if (stats !== undefined && !stats.isFile()) throw notFile(path, stats.isDirectory());
    return real;
  } catch (error) {
    throw unusable(path, error);
  }
}

/** The same for a file that must exist; creates nothing. */
export function existingDatabase(path: string): string {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats === undefined) throw new HoldfastError("store_unusable", `There is no file ${path}.`);
    if (!stats.isFile()) throw new HoldfastError("store_unusable", `${path} is not a regular file.`);
    return realpathSync.native(resolve(path));
  } catch (error) {
    throw unusable(path, error);
  }
}

function realPath(path: string, linksLeft: number, mode: FileMode): string {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) {
    const directory = dirname(path);
    makeDirectory(directory, mode);
    return join(realpathSync.native(directory), basename(path));
  }
  // A link may lead to a missing file, for which realpath fails.
  if (stats.isSymbolicLink()) {
    if (linksLeft === 0)
      throw new HoldfastError("store_unusable", `${path} goes through too many symbolic links.`);
    return realPath(resolve(realpathSync.native(dirname(path)), readlinkSync(path)), linksLeft - 1, mode);
  }
  return realpathSync.native(path);
}

/** A new directory survives a power loss once its parent is synced. SQLite only syncs the directory that contains the database. */
function makeDirectory(path: string, mode: FileMode): void {
  const first = createFolder(path, mode);
  if (first === undefined) return;
  for (let made = path; made.length >= first.length; made = dirname(made)) syncDirectory(dirname(made));
}

/** Does nothing if the directory cannot be opened, as on Windows, or its file system refuses to sync it. SQLite does the same. */
export function syncDirectory(path: string): void {
  try {
    const directory = openSync(path, "r");
    try {
      fsyncSync(directory);
    } finally {
      closeSync(directory);
    }
  } catch {
    // Nothing else can make its entries durable.
  }
}

function notFile(path: string, isDirectory: boolean): HoldfastError {
  const what = isDirectory ? "a directory" : "not a regular file";
  return new HoldfastError("store_unusable", `${path} is ${what}. Choose the path of a file.`);
}

/**
 * The file of an open database, in whose place there may be another one, or none.
 * - Its device and inode tell, at each renewal. Some mounts change these, so a difference counts only once a new look at the path does not
 *   find what was just written.
 * - That look reads the file alone: beside another file, the log of the old one would still show what was written.
 */

export class OpenFile {
  readonly #path: string;
  readonly #looks: DatabaseSync[] = [];
  #identity: string | undefined;
  #gone = false;

  constructor(path: string) {
    this.#path = path;
    this.#identity = identityOf(path);
  }

  /** Whether the path leads to another file now, or to none. `write` stores a mark in the file itself, not only in its log. */
  async isGone(write: (mark: string) => Promise<unknown>): Promise<boolean> {
    const now = identityOf(this.#path);
    if (this.#gone || now === this.#identity) return this.#gone;
    const mark = randomUUID();
    await write(mark);
    this.#gone = !this.#contains(mark);
    this.#identity = now;
    return this.#gone;
  }

  close(): void {
    for (const db of this.#looks) db.close();
  }

  /** The connection stays open: SQLite does not know that it is the same file, and closing it would drop this process's locks on it. */
  #contains(mark: string): boolean {
    const url = pathToFileURL(this.#path);
    url.searchParams.set("immutable", "1");
    try {
      const db = connect(url, { readOnly: true });
      this.#looks.push(db);
      return db.prepare(sql.selectMark).get(mark) !== undefined;
    } catch (error) {
      if (isOfAnother(error) || identityOf(this.#path) === undefined) return false;
      throw unusable(this.#path, error);
    }
  }
}

/** What a process says once it has lost its file. */
export function fileIsGone(path: string): HoldfastError {
  return new HoldfastError(
    "store_lost",
    `${path} was moved, removed or replaced while this process had it open. What this process has written is not in the file that is there now. Restart this process.`,
  );
}

/** Throws `store_locked` if there is no database, but living owners have one open under this path. */
export function refuseToReplace(path: string): void {
  const { size = 0 } = statSync(path, { throwIfNoEntry: false }) ?? {};
  if (size > 0 || !isAnyLocked(path)) return;
  throw new HoldfastError(
    "store_locked",
    `${path} was moved, removed or emptied while another process has it open, and a new database would hide that process's tasks. Put the file back, or stop that process, and try again.`,
  );
}

/** Undefined if there is no file. */
function identityOf(path: string): string | undefined {
  try {
    const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
    return stats?.isFile() === true ? `${stats.dev} ${stats.ino}` : undefined;
  } catch (error) {
    throw unusable(path, error);
  }
}

const ofAnother: ReadonlySet<number | undefined> = new Set([
  sqliteCode.error, // it lacks the table
  sqliteCode.corrupt,
  sqliteCode.notDatabase,
]);

function isOfAnother(error: unknown): boolean {
  return ofAnother.has(primaryCode(error));
}
