import { closeSync, fchmodSync, chmodSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { HoldfastError } from "../../task/fault.ts";
import { unusable } from "./statements.ts";

/**
 * Who may use the files of a database. Invariants:
 * - What we make has the same mode as the database: 0600, or 0660 for a group, whatever the umask; folders add the right to enter them. What
 *   exists keeps its mode. SQLite gives its log and shared memory the mode of the database.
 * - Whoever can read a file can hold a lock on it, and a lock holds work up. So nobody may only read: a lock is never readable for
 *   somebody who may not write it.
 */
export type FileMode = 0o600 | 0o660;

/** New files in a folder with it belong to the folder's group. */
const setgid = 0o2000;

/** What stands beside a database. */
const companions = ["", "-wal", "-shm", "-journal", ".lock", ".owners"];

/** Of a lock beside a database: those may have it who may write the database. */
export function lockMode(path: string, fileMode: FileMode): FileMode {
  const { mode } = statSync(path, { throwIfNoEntry: false }) ?? { mode: fileMode };
  return (mode & 0o020) === 0 ? 0o600 : 0o660;
}

/**
 * Creates an empty file; returns false if it is there. Never opens an existing file: closing it would drop this process's locks on it.
 */
export function createFile(file: string, mode: FileMode): boolean {
  try {
    const made = openSync(file, "wx", mode);
    try {
      fchmodSync(made, mode);
    } finally {
      closeSync(made);
    }
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw unusable(file, error);
  }
}

/** Creates a folder with the missing ones above it; returns the highest of these. */
export function createFolder(path: string, mode: FileMode): string | undefined {
  const entered = mode | ((mode & 0o440) >> 2);
  const first = mkdirSync(path, { recursive: true, mode: entered });
  if (first === undefined) return undefined;
  for (let made = path; made.length >= first.length; made = dirname(made))
    chmodSync(made, entered | (statSync(made).mode & setgid));
  return first;
}

/** How other users can get at the files of a database, as ends of a sentence. Empty on Windows, where modes say nothing. */
export function filesAtRisk(path: string, fileMode = lockMode(path, 0o600)): readonly string[] {
  const own = process.getuid?.();
  if (own === undefined) return [];
  const files = companions.map((end) => path + end);
  return [
    ...folderAtRisk(dirname(path), fileMode),
    ...files.flatMap((file) => fileAtRisk(file, own, fileMode)),
  ];
}

/** The same for a folder. */
export function folderAtRisk(folder: string, fileMode: FileMode = 0o600): readonly string[] {
  const stats = statSync(folder, { throwIfNoEntry: false });
  const own = process.getuid?.();
  if (stats === undefined || own === undefined) return [];
  const { mode, uid, gid } = stats;
  if ((mode & 0o002) !== 0) return [`everybody can change the folder ${folder}`];
  // Many systems give each user a group of the same number, with nobody else in it.
  if ((mode & 0o020) !== 0 && fileMode === 0o600 && gid !== uid)
    return [`the group ${gid} can change the folder ${folder}`];
  return uid === own || uid === 0 ? [] : [`the folder ${folder} belongs to the user ${uid}`];
}

function fileAtRisk(file: string, own: number, fileMode: FileMode): string[] {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined) return [];
  // A group that shares a database has files of each other.
  const isShared = fileMode === 0o660 && (stats.mode & 0o020) !== 0;
  if (stats.uid !== own && !isShared) return [`${file} belongs to the user ${stats.uid}`];
  if ((stats.mode & 0o002) !== 0) return [`everybody can change ${file}`];
  return stats.isFile() && (stats.mode & 0o004) !== 0 ? [`everybody can read ${file}`] : [];
}

/** Warns if other users can get at the files of a database, or throws `store_unusable` if that is not allowed. */
export function checkFiles(path: string, { fileMode, strictFiles }: FileSettings): void {
  const risks = filesAtRisk(path, fileMode);
  if (risks.length === 0) return;
  const message = `Other users can get at the tasks in ${path}: ${risks.join("; ")}.`;
  const advice = "Keep the database in a folder of its own that only the user of this process can change.";
  if (strictFiles)
    throw new HoldfastError("store_unusable", `${message} strictFiles refuses that. ${advice}`);
  process.emitWarning(`${message} ${advice}`, "HoldfastWarning");
}

export interface FileSettings {
  readonly fileMode: FileMode;
  readonly strictFiles: boolean;
}
