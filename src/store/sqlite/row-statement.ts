import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import type { Row } from "../row.ts";

/** A prepared statement that reads rows. */
export interface RowStatement {
  get(...values: SQLInputValue[]): Row | undefined;
  all(...values: SQLInputValue[]): Row[];
  /** Reads each row on demand. */
  iterate(...values: SQLInputValue[]): Iterable<Row>;
}

/** Its rows are arrays: as objects, `node:sqlite` would need at least twice the time. */
export function prepareRows(db: DatabaseSync, sql: string): RowStatement {
  const statement = db.prepare(sql);
  statement.setReturnArrays(true);
  // Node's types only know rows as objects.
  return statement as unknown as RowStatement;
}
