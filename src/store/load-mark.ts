import { HoldfastError } from "../task/fault.ts";
import { formsOf, type Reading, rowOf } from "./dialect.ts";
import { columnsOf, integerOrNull, text } from "./row.ts";
import type { Dialect } from "./tables/table.ts";

/** How far a load has come. */
export interface LoadMark {
  /** The dump that is being loaded, or was loaded last. */
  readonly dump: string;
  /** The number of its lines that are in the store; 0: tasks may still have to be removed for it; null: all are. */
  readonly lines: number | null;
}

/** The mark is a separate table, only in a store that a dump is being loaded into: servers do not open one that has it. */
export const loadTable = "loading";

export function loadMarkSql(table: string, dialect: Dialect) {
  const { either } = formsOf(dialect);
  const number = (parameter: number): string => `$${parameter}${either("", "::bigint")}`;
  return {
    create: `CREATE TABLE ${table} (dump ${either("TEXT", "text")} NOT NULL, lines ${either("INTEGER", "bigint")})${either(" STRICT", "")}`,
    insert: `INSERT INTO ${table} (dump, lines) VALUES ($1, $2)`,
    move: `UPDATE ${table} SET dump = $1, lines = ${number(2)}
      WHERE dump = $3 AND lines ${either("IS", "IS NOT DISTINCT FROM")} ${number(4)} RETURNING 1`,
    drop: `DROP TABLE ${table}`,
    select: `SELECT dump, lines FROM ${table}`,
  };
}

export type LoadMarkSql = ReturnType<typeof loadMarkSql>;

const at = columnsOf(["dump", "lines"]);

/** Of a store that has the table. */
export function markIn({ select }: LoadMarkSql): Reading<LoadMark | undefined> {
  return rowOf(select, [], (row) => ({ dump: text(row, at.dump), lines: integerOrNull(row, at.lines) }));
}

/** Throws `store_locked` for a server while a dump is being loaded. */
export function refuseWhileLoading(place: string, isLoading: boolean): void {
  if (!isLoading) return;
  throw new HoldfastError(
    "store_locked",
    `${place} is not complete: a dump is being loaded into it, or was loaded with --partial. Servers can open it once "holdfast admin STORE load FILE", without --partial, has finished.`,
  );
}

/** Another process has written since. */
export function otherLoad(): HoldfastError {
  return new HoldfastError(
    "store_locked",
    "Another process loads a dump into this store. Let it finish, or stop it and run the command again.",
  );
}

/** There is something in the store. */
export function notEmpty(place: string): HoldfastError {
  return new HoldfastError(
    "configuration",
    `${place} already has tasks, sessions or words of operators, and a dump can only be loaded into an empty store. Choose another one.`,
  );
}

/** The tables of a store are not those of this version. The parts are such as "column cause of task". */
export function otherTables(
  place: string,
  missing: readonly string[],
  unknown: readonly string[],
): HoldfastError {
  const few = missing.length > 4 ? [...missing.slice(0, 3), `${missing.length - 3} more`] : missing;
  const problems = [
    ...(few.length > 0 ? [`lacks ${few.join(", ")}`] : []),
    ...(unknown.length > 0
      ? [`needs values for what this version does not know: ${unknown.join(", ")}`]
      : []),
  ];
  return new HoldfastError(
    "store_unusable",
    `${place} ${problems.join(", and ")}: another version of Holdfast made its tables, or they are damaged. Use the version that made them: a dump of that one can be loaded into a new store of this one. Or restore a backup.`,
  );
}
