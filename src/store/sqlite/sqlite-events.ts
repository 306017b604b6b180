import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { EventFacts, EventQuery } from "../facts.ts";
import { journalEntryOf } from "../journal-row.ts";
import { readTask } from "./read-task.ts";
import { prepareRows, type RowStatement } from "./row-statement.ts";
import { columnsOf, integer, text } from "../row.ts";
import * as sql from "./sql.ts";
import { toStored } from "../stored-text.ts";

const keptAt = columnsOf(["seq", "value"]);
const countAt = columnsOf(["count"]);

/** The events of tasks, on the write connection. */
export class SqliteEvents {
  readonly #firstKept: RowStatement;
  readonly #firstWait: RowStatement;
  readonly #known: RowStatement;
  readonly #count: RowStatement;
  readonly #insert: StatementSync;
  readonly #forgetValue: StatementSync;
  readonly #deleteTaken: StatementSync;

  constructor(db: DatabaseSync) {
    this.#firstKept = prepareRows(db, sql.selectFirstEvent);
    this.#firstWait = prepareRows(db, sql.selectFirstEventWait);
    this.#known = prepareRows(db, sql.selectKnownEvent);
    this.#count = prepareRows(db, sql.countEvents);
    this.#insert = db.prepare(sql.insertEvent);
    this.#forgetValue = db.prepare(sql.updateEventTaken);
    this.#deleteTaken = db.prepare(sql.deleteTakenEvent);
  }

  facts(taskId: string, { name, coming }: EventQuery): EventFacts {
    const [id, stored] = [toStored(taskId), toStored(name)];
    if (coming === undefined) {
      const row = this.#firstKept.get(id, stored);
      if (row === undefined) return {};
      return readTask(taskId, () => ({
        kept: { seq: integer(row, keptAt.seq), value: text(row, keptAt.value) },
      }));
    }
    const { dedupeId, now } = coming;
    const wait = this.#firstWait.get(id, stored, now);
    const count = this.#count.get(id);
    return {
      wait: wait === undefined ? undefined : readTask(taskId, () => journalEntryOf(wait)),
      isKnown: dedupeId !== null && this.#known.get(id, toStored(dedupeId)) !== undefined,
      count: count === undefined ? 0 : integer(count, countAt.count),
    };
  }

  keep(taskId: string, name: string, value: string | null, dedupeId: string | null): void {
    this.#insert.run(
      toStored(taskId),
      toStored(name),
      value === null ? null : toStored(value),
      dedupeId === null ? null : toStored(dedupeId),
    );
  }

  take(seq: number): void {
    this.#forgetValue.run(seq);
    this.#deleteTaken.run(seq);
  }
}
