import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { SessionNews } from "../session-store.ts";
import type { StoreChanges, TaskChange } from "../store.ts";
import { prepareRows, type RowStatement } from "./row-statement.ts";
import { columnsOf, integer, integerOrNull, text, textOrNull, type Row } from "../row.ts";
import * as sql from "./sql.ts";
import { toStored } from "../stored-text.ts";

/** How many changes are kept for late readers. A reader that missed more rereads everything it holds. */
const keptChanges = 10_000;

/** How much space one owner's messages may take; beyond that, only the newest change is kept. */
const keptBytes = 64 * 1024 * 1024;

const at = columnsOf(["seq", "owner", "task_id", "version", "session", "message"]);
const lastAt = columnsOf(["seq"]);

/** What was committed. */
export interface LoggedChanges {
  readonly tasks: StoreChanges;
  readonly sessions: readonly SessionNews[] | "gap";
}

export const gap: LoggedChanges = { tasks: "gap", sessions: "gap" };

/** Writes an owner's changes for the other owners. */
export class ChangeLog {
  readonly #owner: string;
  readonly #insert: StatementSync;
  readonly #deleteOld: StatementSync;
  /** The size of this owner's messages since it last deleted all. */
  #bytes = 0;

  constructor(db: DatabaseSync, owner: string) {
    this.#owner = owner;
    this.#insert = db.prepare(sql.insertChange);
    this.#deleteOld = db.prepare(sql.deleteOldChanges);
  }

  append(tasks: readonly TaskChange[], sessions: readonly SessionNews[]): void {
    if (tasks.length === 0 && sessions.length === 0) return;
    for (const { id, version } of tasks) this.#insert.run(this.#owner, toStored(id), version, null, null);
    for (const { id, message } of sessions) {
      const stored = message === null ? null : toStored(message);
      this.#insert.run(this.#owner, null, null, toStored(id), stored);
      this.#bytes += stored?.length ?? 0;
    }
    this.#deleteOldest();
  }

  /** Tells all readers to reread what they hold. */
  appendGap(): void {
    this.#insert.run(this.#owner, null, null, null, null);
    this.#deleteOldest();
  }

  #deleteOldest(): void {
    const isFull = this.#bytes > keptBytes;
    this.#deleteOld.run(isFull ? 1 : keptChanges);
    if (isFull) this.#bytes = 0;
  }
}

/** Reads what others have changed since the reader was created or last asked. */
export class ChangeLogReader {
  readonly #owner: string;
  readonly #select: RowStatement;
  #last: number;

  constructor(db: DatabaseSync, owner: string) {
    this.#owner = owner;
    this.#select = prepareRows(db, sql.selectChanges);
    const row = prepareRows(db, sql.selectLastChange).get();
    this.#last = row === undefined ? 0 : (integerOrNull(row, lastAt.seq) ?? 0);
  }

  read(): LoggedChanges {
    const rows = this.#select.all(this.#last);
    const [first] = rows;
    const last = rows.at(-1);
    if (first === undefined || last === undefined) return { tasks: [], sessions: [] };
    const missed = integer(first, at.seq) > this.#last + 1;
    this.#last = integer(last, at.seq);
    if (missed) return gap;
    try {
      return this.#ofOthers(rows);
    } catch {
      return gap; // a row without content is a gap, and a damaged one may be about anything
    }
  }

  #ofOthers(rows: readonly Row[]): LoggedChanges {
    const tasks: TaskChange[] = [];
    const sessions: SessionNews[] = [];
    for (const row of rows) {
      if (text(row, at.owner) === this.#owner) continue;
      const task = textOrNull(row, at.task_id);
      if (task === null) sessions.push({ id: text(row, at.session), message: textOrNull(row, at.message) });
      else tasks.push({ id: task, version: integerOrNull(row, at.version) });
    }
    return { tasks, sessions };
  }
}
