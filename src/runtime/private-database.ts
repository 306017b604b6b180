import { mkdirSync, writeFileSync } from "node:fs";
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
