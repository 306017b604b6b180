import type { LoadMark } from "../load-mark.ts";
import { columnsOf, integerOrNull, text } from "../row.ts";
import type { Statements } from "./statements.ts";

// The mark is a separate table, only in a database that a dump is being loaded into: servers do not open one that has it.
export const createLoadMark = "CREATE TABLE loading (dump TEXT NOT NULL, lines INTEGER) STRICT";
export const insertLoadMark = "INSERT INTO loading (dump, lines) VALUES (?, ?)";
export const moveLoadMark = "UPDATE loading SET dump = ?, lines = ? WHERE dump = ? AND lines IS ?";
export const dropLoadMark = "DROP TABLE loading";
const selectIsLoading = "SELECT name FROM sqlite_schema WHERE name = 'loading'";
const selectLoadMark = "SELECT dump, lines FROM loading";

const at = columnsOf(["dump", "lines"]);

export function loadMark(statements: Statements): LoadMark | undefined {
  if (statements.get(selectIsLoading) === undefined) return undefined;
  const row = statements.get(selectLoadMark);
  return row === undefined ? undefined : { dump: text(row, at.dump), lines: integerOrNull(row, at.lines) };
}
