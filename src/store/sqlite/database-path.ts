import { closeSync, fsyncSync, lstatSync, openSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { HoldfastError } from "../../task/fault.ts";
import { createFolder, type FileMode } from "./private-files.ts";
import { unusable } from "./unusable.ts";

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
