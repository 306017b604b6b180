import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { isBusy, messageOf } from "./sqlite-error.ts";
import { primaryCode, sqliteCode } from "./connect.ts";
import type { Reading, Value } from "../dialect.ts";
import { HoldfastError } from "../../task/fault.ts";
import { type Codec, idOf, inClear, type Row } from "../row.ts";
import type { TaskRecord } from "../../task/record.ts";
import { recordIn } from "../tables/task.ts";

/**
 * How long SQLite itself waits for a writer's turn. Its pauses grow to 100 ms, in which a process that writes continuously would mostly
 * take the next turn too.
 */
export const turnMs = 3;

/** Begins a write transaction when it is this connection's turn; throws SQLite's error if that takes longer. */
export function beginWrite(db: Pick<DatabaseSync, "exec">, withinMs: number): void {
  const deadline = performance.now() + withinMs;
  for (;;) {
    try {
      db.exec("BEGIN IMMEDIATE");
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() >= deadline) throw error;
    }
  }
}

/** `store_unusable` with the file and the cause. An error with a code of its own stays: it is more specific. */
export function unusable(path: string, cause: unknown): HoldfastError {
  if (cause instanceof HoldfastError) return cause;
  return new HoldfastError("store_unusable", `${path} cannot be used: ${messageOf(cause)}.`, { cause });
}

/** A prepared statement that reads rows. */
export interface RowStatement {
  get(...values: SQLInputValue[]): Row | undefined;
  all(...values: SQLInputValue[]): Row[];
  /** Reads each row on demand. */
  iterate(...values: SQLInputValue[]): Iterable<Row>;
}

/** What is used of a connection; `transaction` only where it is not ours. */
export type Connection = Pick<DatabaseSync, "exec" | "isTransaction" | "close"> & {
  prepare(sql: string): Pick<StatementSync, "run" | "setReturnArrays">;
  readonly transaction?: <T>(work: () => T) => T;
};

/**
 * The statements of a connection, by their texts. Each is prepared at its first use: a process uses few of the many that it could need, and
 * a test opens thousands of databases.
 */
export class Statements {
  readonly db: Connection;
  /** How the texts of sealed columns are stored. */
  codec: Codec = inClear;
  readonly #reads: Map<string, RowStatement>;
  readonly #writes: Map<string, Pick<StatementSync, "run">>;

  /** With `shared`, those of the same connection for another owner, who may have other keys. */
  constructor(db: Connection, shared?: Statements) {
    this.db = db;
    this.#reads = shared === undefined ? new Map<string, RowStatement>() : shared.#reads;
    this.#writes = shared === undefined ? new Map<string, Pick<StatementSync, "run">>() : shared.#writes;
  }

  /**
   * Runs `work` in a write transaction, and commits it; if it throws, nothing has changed. Waits up to `patienceMs` for the turn to write.
   */
  transaction<T>(patienceMs: number, work: () => T): T {
    const { db } = this;
    if (db.transaction !== undefined) return db.transaction(work);
    beginWrite(db, patienceMs);
    try {
      const done = work();
      db.exec("COMMIT");
      return done;
    } catch (error) {
      if (db.isTransaction) db.exec("ROLLBACK");
      throw error;
    }
  }

  get(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.rows(sql).get(...values);
  }

  all(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.rows(sql).all(...values);
  }

  read<T>(reading: Reading<T>): T {
    for (let step = reading.next(); ;) {
      if (step.done === true) return step.value;
      const { sql, values } = step.value;
      step = reading.next(this.all(sql, ...values.map(bindable)));
    }
  }

  /** Returns the number of rows that it changed. */
  run(sql: string, ...values: SQLInputValue[]): number {
    let statement = this.#writes.get(sql);
    if (statement === undefined) {
      statement = this.#prepare(sql);
      this.#writes.set(sql, statement);
    }
    return Number(statement.run(...values).changes);
  }

  /** Its rows are arrays: as objects, `node:sqlite` would need at least twice the time. */
  rows(sql: string): RowStatement {
    const known = this.#reads.get(sql);
    if (known !== undefined) return known;
    const statement = this.#prepare(sql);
    statement.setReturnArrays(true);
    // Node's types only know rows as objects.
    const rows = statement as unknown as RowStatement;
    this.#reads.set(sql, rows);
    return rows;
  }

  /** In statements of both kinds of databases, parameters are numbered as in Postgres. */
  #prepare(sql: string): Pick<StatementSync, "run" | "setReturnArrays"> {
    return this.db.prepare(sql.replaceAll("$", "?"));
  }
}

function bindable(value: Value): SQLInputValue {
  return typeof value === "object" && value !== null && !(value instanceof Uint8Array)
    ? JSON.stringify(value)
    : value;
}

/**
 * Calls `read` on the rows of one task. Throws `task_unreadable` if they are damaged: that concerns this task alone, while all other SQLite
 * errors concern a disk or a file that may recover.
 */
export function readTask<T>(id: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof HoldfastError || !isDamage(error)) throw error;
    throw new HoldfastError("task_unreadable", `Task ${id} cannot be read: ${messageOf(error)}.`, {
      cause: error,
    });
  }
}

/** The record of a row that begins with `recordColumns`. Throws `task_unreadable`, and nothing else, if it is no valid record. */
export function recordOf(row: Row, codec: Codec): TaskRecord {
  return readTask(idOf(row), () => recordIn(row, codec));
}

function isDamage(error: unknown): boolean {
  const code = primaryCode(error);
  return code === undefined || code === sqliteCode.corrupt;
}
