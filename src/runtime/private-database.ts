import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { connect } from "../store/sqlite/statements.ts";

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

/** Whether the file is no database, or a broken one: SQLITE_CORRUPT, or SQLITE_NOTADB. */
export function isDamage(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && [11, 26].includes(Number(error.errcode) & 0xff);
}
