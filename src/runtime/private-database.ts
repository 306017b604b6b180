/**
 * Small SQLite files in which a client or a command keeps what only its user may read. Invariants:
 * - Any number of processes use a file at once. It is made by the first that writes.
 * - Where a crash left a transaction unfinished, a reader opens the file once for writing, which undoes it.
 * - A damaged file is put aside by whoever writes next, never one that another process has made in its place since.
 */

import { lstatSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { connect, primaryCode, sqliteCode } from "../store/sqlite/connect.ts";

/** How long a process waits for others that write. */
const busyMs = 10_000;

/** A connection to a small database that only this user can read, which is made if `writes`. */
export function openPrivate(file: string, writes: boolean): DatabaseSync {
  if (writes) {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(file, "", { flag: "a", mode: 0o600 });
  }
  return connect(file, { readOnly: !writes, timeout: busyMs });
}

/** Whether a crash has left a transaction unfinished, which only a connection that writes may undo. */
export function isUnfinished(error: unknown): boolean {
  return primaryCode(error) === sqliteCode.readonly;
}

/** Whether the file is no database, or a broken one. */
export function isDamage(error: unknown): boolean {
  const code = primaryCode(error);
  return code === sqliteCode.corrupt || code === sqliteCode.notDatabase;
}

/** What tells a file from another one at its path; undefined where there is none. */
export function inodeOf(file: string): bigint | undefined {
  try {
    return lstatSync(file, { bigint: true }).ino;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Puts a damaged file aside, with `.damaged` after its name, unless another one is there by now. */
export function putAside(file: string, inode: bigint | undefined): void {
  if (inodeOf(file) !== inode) return;
  try {
    renameSync(file, `${file}.damaged`);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
