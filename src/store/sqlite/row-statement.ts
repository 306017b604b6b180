import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import type { Row } from "../row.ts";

/** A prepared statement that reads rows. */
export interface RowStatement {
  get(...values: SQLInputValue[]): Row | undefined;
  all(...values: SQLInputValue[]): Row[];
  /** Reads a row when it is asked for. */
  iterate(...values: SQLInputValue[]): Iterable<Row>;
}

/** Its rows are arrays, since `node:sqlite` takes twice as long or more to make objects of them. */
export function prepareRows(db: DatabaseSync, sql: string): RowStatement {
  const statement = db.prepare(sql);
  statement.setReturnArrays(true);
  // The types of Node know the rows only as objects.
  return statement as unknown as RowStatement;
}
