import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { inClear, type Codec } from "../codec.ts";
import type { Row } from "../row.ts";

/** A prepared statement that reads rows. */
export interface RowStatement {
  get(...values: SQLInputValue[]): Row | undefined;
  all(...values: SQLInputValue[]): Row[];
  /** Reads each row on demand. */
  iterate(...values: SQLInputValue[]): Iterable<Row>;
}

/**
 * The statements of a connection, by their texts. Each is prepared at its first use: a process uses few of the many that it could need, and
 * a test opens thousands of databases.
 */
export class Statements {
  readonly db: DatabaseSync;
  /** How the texts of sealed columns are stored. */
  codec: Codec = inClear;
  readonly #reads: Map<string, RowStatement>;
  readonly #writes: Map<string, StatementSync>;

  /** With `shared`, those of the same connection for another owner, who may have other keys. */
  constructor(db: DatabaseSync, shared?: Statements) {
    this.db = db;
    this.#reads = shared === undefined ? new Map<string, RowStatement>() : shared.#reads;
    this.#writes = shared === undefined ? new Map<string, StatementSync>() : shared.#writes;
  }

  get(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.rows(sql).get(...values);
  }

  all(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.rows(sql).all(...values);
  }

  /** Returns the number of rows that it changed. */
  run(sql: string, ...values: SQLInputValue[]): number {
    let statement = this.#writes.get(sql);
    if (statement === undefined) {
      statement = this.db.prepare(sql);
      this.#writes.set(sql, statement);
    }
    return Number(statement.run(...values).changes);
  }

  /** Its rows are arrays: as objects, `node:sqlite` would need at least twice the time. */
  rows(sql: string): RowStatement {
    const known = this.#reads.get(sql);
    if (known !== undefined) return known;
    const statement = this.db.prepare(sql);
    statement.setReturnArrays(true);
    // Node's types only know rows as objects.
    const rows = statement as unknown as RowStatement;
    this.#reads.set(sql, rows);
    return rows;
  }
}
