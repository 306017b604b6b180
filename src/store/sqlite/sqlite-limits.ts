import { applyLimit, type LimitApplied, limitSql, limitTables } from "../limit-sql.ts";
import type { LimitCall } from "../limits.ts";
import { tables } from "./admin-sql.ts";
import type { Statements } from "./statements.ts";

export const limitSchema = limitTables(tables, {
  integer: "INTEGER",
  text: "TEXT",
  serial: "INTEGER PRIMARY KEY",
  options: " STRICT",
});

export const limitStatements = limitSql(tables, "sqlite");

/** Applies a call, in the caller's transaction. */
export function applyLimitHere(statements: Statements, owner: string, call: LimitCall): LimitApplied {
  return statements.read(applyLimit(limitStatements, owner, call));
}
