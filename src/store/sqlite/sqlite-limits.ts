import { applyLimit, type LimitApplied, limitPlaceOf, limitSql, limitTables } from "../limit-sql.ts";
import type { LimitCall, LimitPlace } from "../limits.ts";
import { toStored } from "../row.ts";
import type { Statements } from "./statements.ts";

const names = { line: "limit_line", place: "limit_place", task: "task", owner: "owner" };

export const limitSchema = limitTables(names, {
  integer: "INTEGER",
  text: "TEXT",
  serial: "INTEGER PRIMARY KEY",
  options: " STRICT",
});

/** With the parameters of SQLite, which are numbered behind a question mark. */
export const limitStatements = Object.fromEntries(
  Object.entries(limitSql({ ...names, now: "NULL", unlocked: "" })).map(([name, sql]) => [
    name,
    sql.replaceAll("$", "?"),
  ]),
) as ReturnType<typeof limitSql>;

/** Applies a call, in the caller's transaction. */
export function applyLimitHere(statements: Statements, owner: string, call: LimitCall): LimitApplied {
  const steps = applyLimit(limitStatements, owner, call);
  for (let step = steps.next(); ;) {
    if (step.done === true) return step.value;
    const { sql, values } = step.value;
    step = steps.next(statements.all(sql, ...values));
  }
}

export function limitPlacesOf(statements: Statements, taskId: string): readonly LimitPlace[] {
  return statements.all(limitStatements.ofTask, toStored(taskId)).map(limitPlaceOf);
}
