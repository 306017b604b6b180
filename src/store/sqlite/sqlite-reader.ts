import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import type { InputRequest } from "../../task/input.ts";
import type { JournalEntry } from "../../task/journal.ts";
import type { Origin, TaskRecord, TaskRequest } from "../../task/record.ts";
import type { TaskSnapshot } from "../../task/snapshot.ts";
import type { KeyedTask, TaskOwner, WireName } from "../store.ts";
import { connect } from "./connect.ts";
import { inputMethodOf, journalEntryOf } from "./journal-row.ts";
import { recordOf } from "./record-row.ts";
import { idOf, integer, integerOrNull, text, textOrNull, type Row } from "./row.ts";
import * as sql from "./sql.ts";
import { toStored } from "./stored-text.ts";
import { latestTime } from "../../task/time.ts";

/** SQLite puts every blob behind all texts. */
const behindAllTexts = new Uint8Array();

/**
 * Reads through a connection of its own, which cannot write. Every method is one statement, so one consistent view; pages
 * of tasks take another one where some cannot be read.
 */
export class SqliteReader {
  readonly #db: DatabaseSync;
  readonly #task: StatementSync;
  readonly #snapshot: StatementSync;
  readonly #idByWireId: StatementSync;
  readonly #keyed: StatementSync;
  readonly #request: StatementSync;
  readonly #journal: StatementSync;
  readonly #journalEntry: StatementSync;
  readonly #owned: StatementSync;
  readonly #ofScope: StatementSync;
  readonly #ofGeneration: StatementSync;
  readonly #unfinished: StatementSync;
  readonly #due: StatementSync;
  readonly #nextSweep: StatementSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#task = db.prepare(sql.selectTask);
    this.#snapshot = db.prepare(sql.selectSnapshot);
    this.#idByWireId = db.prepare(sql.selectIdByWireId);
    this.#keyed = db.prepare(sql.selectKeyed);
    this.#request = db.prepare(sql.selectRequest);
    this.#journal = db.prepare(sql.selectJournal);
    this.#journalEntry = db.prepare(sql.selectJournalEntry);
    this.#owned = db.prepare(sql.selectOwned);
    this.#ofScope = db.prepare(sql.selectOfScope);
    this.#ofGeneration = db.prepare(sql.selectOfGeneration);
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
    const task = recordOf(first);
    const { outcomeKind: kind } = task;
    const outcome = kind === null ? null : { kind, body: text(first, "outcome_body") };
    return { task, inputs: inputsOf(rows), outcome };
  }

  find({ generation, scope, wireId }: WireName): string | undefined {
    const row = this.#idByWireId.get(generation, toStored(scope), toStored(wireId));
    return row === undefined ? undefined : idOf(row);
  }

  withKeys(principal: string | null, prefix: string, limit: number): KeyedTask[] {
    const end = `${prefix}\u{10ffff}`;
    const rows = this.#keyed.all(toStored(principal ?? ""), toStored(prefix), toStored(end), limit);
    return rows.map((row) => ({ id: text(row, "id"), key: text(row, "idempotency_key") }));
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
    const rows = this.#journal.all(toStored(id)).sort((a, b) => integer(a, "seq") - integer(b, "seq"));
    return rows.map(journalEntryOf);
  }

  journalEntry(id: string, key: string): JournalEntry | undefined {
    const row = this.#journalEntry.get(toStored(id), toStored(key));
    return row === undefined ? undefined : journalEntryOf(row);
  }

  list(
    { generation, principal, scope }: TaskOwner,
    before: string | null,
    limit: number,
    now: number,
  ): TaskRecord[] {
    const from = before === null ? behindAllTexts : toStored(before);
    if (scope !== undefined) {
      const anybody = Number(principal === undefined);
      const of = [generation, toStored(scope), anybody, principal == null ? null : toStored(principal)];
      return readable(from, limit, (end, count) => this.#ofScope.all(...of, end, now, count));
    }
    if (principal === undefined) {
      return readable(from, limit, (end, count) => this.#ofGeneration.all(generation, end, now, count));
    }
    const owner = [generation, principal === null ? null : toStored(principal)];
    return readable(from, limit, (end, count) => this.#owned.all(...owner, end, now, count));
  }

  unfinished(after: string, limit: number): TaskRecord[] {
    return readable(toStored(after), limit, (start, count) => this.#unfinished.all(start, count));
  }

  due(now: number, limit: number): string[] {
    return this.#due.all(now, limit).map(idOf);
  }

  nextSweepAt(after: number): number | null {
    const row = this.#nextSweep.get({ after, latest: latestTime });
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

/** Up to `limit` tasks in the order of `page`, from the id `from` on: those that cannot be read make no page shorter. */
function readable(
  from: SQLInputValue,
  limit: number,
  page: (from: SQLInputValue, limit: number) => readonly Row[],
): TaskRecord[] {
  const tasks: TaskRecord[] = [];
  for (let next = from; tasks.length < limit;) {
    const wanted = limit - tasks.length;
    const rows = page(next, wanted);
    for (const row of rows) {
      const task = recordIfReadable(row);
      if (task !== undefined) tasks.push(task);
    }
    if (rows.length < wanted) break;
    next = rows.at(-1)?.["id"] ?? null;
  }
  return tasks;
}

function recordIfReadable(row: Row): TaskRecord | undefined {
  try {
    return recordOf(row);
  } catch {
    return undefined; // `recover` names it
  }
}
