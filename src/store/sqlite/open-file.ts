/**
 * The file of an open database, in whose place there may be another one, or none.
 * - Its device and inode tell, at each renewal. Some mounts change these, so a difference counts only once a new look at the path does not
 *   find what was just written.
 * - That look reads the file alone: beside another file, the log of the old one would still show what was written.
 */

import { randomUUID } from "node:crypto";
import { statSync } from "node:fs";
import { pathToFileURL } from "node:url";
import type { DatabaseSync } from "node:sqlite";
import { HoldfastError } from "../../task/fault.ts";
import { connect } from "./connect.ts";
import { isAnyLocked } from "./owner-lock.ts";
import * as sql from "./sql.ts";
import { primaryCode, sqliteCode } from "./sqlite-error.ts";
import { unusable } from "./unusable.ts";

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
