import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { InputRequest } from "../../task/input.ts";
import type { JournalEntry } from "../../task/journal.ts";
import type { Outcome } from "../../task/outcome.ts";
import type { Origin, TaskRecord, TaskRequest } from "../../task/record.ts";
import type { TaskSnapshot } from "../../task/snapshot.ts";
import { connect } from "./connect.ts";
import { inputMethodOf, journalEntryOf } from "./journal-row.ts";
import { recordOf } from "./record-row.ts";
import { integerOrNull, oneOf, text, textOrNull, type Row } from "./row.ts";
import * as sql from "./sql.ts";
import { toStored } from "./stored-text.ts";

const outcomeKinds: Readonly<Record<Outcome["kind"], true>> = { result: true, error: true };

/** Reads through a connection of its own, which cannot write. Every method is one statement, so one consistent view. */
export class SqliteReader {
  readonly #db: DatabaseSync;
  readonly #task: StatementSync;
  readonly #snapshot: StatementSync;
  readonly #request: StatementSync;
  readonly #journal: StatementSync;
  readonly #journalEntry: StatementSync;
  readonly #unfinished: StatementSync;
  readonly #due: StatementSync;
  readonly #nextSweep: StatementSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#task = db.prepare(sql.selectTask);
    this.#snapshot = db.prepare(sql.selectSnapshot);
    this.#request = db.prepare(sql.selectRequest);
    this.#journal = db.prepare(sql.selectJournal);
    this.#journalEntry = db.prepare(sql.selectJournalEntry);
    this.#unfinished = db.prepare(sql.selectUnfinished);
    this.#due = db.prepare(sql.selectDue);
    this.#nextSweep = db.prepare(sql.selectNextSweep);
  }

  task(id: string): TaskRecord | undefined {
    const row = this.#task.get(toStored(id));
    return row === undefined ? undefined : recordOf(row);
  }

  snapshot(id: string): TaskSnapshot | undefined {
    const rows = this.#snapshot.all(toStored(id));
    const [first] = rows;
    if (first === undefined) return undefined;
    return { task: recordOf(first), inputs: inputsOf(rows), outcome: outcomeOf(first) };
  }

  request(id: string): TaskRequest | undefined {
    const row = this.#request.get(toStored(id));
    if (row === undefined) return undefined;
    return {
      origin: JSON.parse(text(row, "origin")) as Origin,
      arguments: text(row, "arguments"),
      prepared: textOrNull(row, "prepared"),
    };
  }

  journal(id: string): JournalEntry[] {
    return this.#journal.all(toStored(id)).map(journalEntryOf);
  }

  journalEntry(id: string, key: string): JournalEntry | undefined {
    const row = this.#journalEntry.get(toStored(id), toStored(key));
    return row === undefined ? undefined : journalEntryOf(row);
  }

  unfinished(after: string, limit: number): TaskRecord[] {
    return this.#unfinished.all(toStored(after), limit).map(recordOf);
  }

  due(now: number, limit: number): string[] {
    return this.#due.all(now, limit).map((row) => text(row, "id"));
  }

  nextSweepAt(): number | null {
    const row = this.#nextSweep.get();
    return row === undefined ? null : integerOrNull(row, "at");
  }

  close(): void {
    this.#db.close();
  }
}

/** Opens the reader on a database that the writer has brought up to date. */
export function openReader(path: string, busyTimeoutMs: number): SqliteReader {
  const db = connect(path, { readOnly: true, timeout: busyTimeoutMs });
  try {
    return new SqliteReader(db);
  } catch (error) {
    db.close();
    throw error;
  }
}

function inputsOf(rows: readonly Row[]): InputRequest[] {
  return rows
    .filter((row) => row["input_key"] !== null)
    .map((row) => ({
      key: text(row, "input_key"),
      method: inputMethodOf(row, "input_method"),
      params: textOrNull(row, "input_params") ?? "{}",
    }));
}

function outcomeOf(row: Row): Outcome | null {
  if (row["outcome_kind"] === null) return null;
  return { kind: oneOf(row, "outcome_kind", outcomeKinds), body: text(row, "outcome_body") };
}
