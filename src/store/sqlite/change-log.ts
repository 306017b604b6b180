import type { SessionNews } from "../session-store.ts";
import type { StoreChanges, TaskChange } from "../store.ts";
import type { Statements } from "./statements.ts";
import {
  columnsOf,
  integer,
  integerOrNull,
  newsPlace,
  openedNews,
  type Row,
  text,
  textOrNull,
  toStored,
} from "../row.ts";
import * as sql from "./sql.ts";

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
  readonly #sql: Statements;
  readonly #owner: string;
  /** The size of this owner's messages since it last deleted all. */
  #bytes = 0;

  constructor(statements: Statements, owner: string) {
    this.#sql = statements;
    this.#owner = owner;
  }

  append(tasks: readonly TaskChange[], sessions: readonly SessionNews[]): void {
    if (tasks.length === 0 && sessions.length === 0) return;
    for (const { id, version } of tasks)
      this.#sql.run(sql.insertChange, this.#owner, toStored(id), version, null, null);
    for (const { id, message } of sessions) {
      const stored = message === null ? null : toStored(this.#sql.codec.seal(message, newsPlace(id)));
      this.#sql.run(sql.insertChange, this.#owner, null, null, toStored(id), stored);
      this.#bytes += stored?.length ?? 0;
    }
    this.#deleteOldest();
  }

  /** Tells all readers to reread what they hold. */
  appendGap(): void {
    this.#sql.run(sql.insertChange, this.#owner, null, null, null, null);
    this.#deleteOldest();
  }

  /** Something that is in no other database. Readers take it for a gap. */
  appendMark(mark: string): void {
    this.#sql.run(sql.insertChange, this.#owner, null, null, null, mark);
    this.#deleteOldest();
  }

  #deleteOldest(): void {
    const isFull = this.#bytes > keptBytes;
    this.#sql.run(sql.deleteOldChanges, isFull ? 1 : keptChanges);
    if (isFull) this.#bytes = 0;
  }
}

/** Reads what others have changed since the reader was created or last asked. */
export class ChangeLogReader {
  readonly #sql: Statements;
  readonly #owner: string;
  #last: number;

  constructor(statements: Statements, owner: string) {
    this.#sql = statements;
    this.#owner = owner;
    const row = statements.get(sql.selectLastChange);
    this.#last = row === undefined ? 0 : (integerOrNull(row, lastAt.seq) ?? 0);
  }

  read(): LoggedChanges {
    const rows = this.#sql.all(sql.selectChanges, this.#last);
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
      if (task === null) {
        const news = { id: text(row, at.session), message: textOrNull(row, at.message) };
        sessions.push(openedNews(news, this.#sql.codec));
      } else tasks.push({ id: task, version: integerOrNull(row, at.version) });
    }
    return { tasks, sessions };
  }
}
