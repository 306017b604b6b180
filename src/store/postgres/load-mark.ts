import type { LoadMark } from "../load-mark.ts";
import { columnsOf, integerOrNull, text } from "../row.ts";
import type { Queries } from "./database.ts";
import type { Names } from "./names.ts";
import { tableIn } from "./schema.ts";

/** The mark is a separate table, only in a schema that a dump is being loaded into: servers do not open one that has it. */
export const loadTable = "loading";

const at = columnsOf(["dump", "lines"]);

export function loadMarkSql(names: Names) {
  const table = tableIn(names, loadTable);
  return {
    create: `CREATE TABLE ${table} (dump text NOT NULL, lines bigint)`,
    insert: `INSERT INTO ${table} (dump, lines) VALUES ($1, $2)`,
    move: `UPDATE ${table} SET dump = $1, lines = $2::bigint WHERE dump = $3 AND lines IS NOT DISTINCT FROM $4::bigint RETURNING 1`,
    drop: `DROP TABLE ${table}`,
    select: `SELECT dump, lines FROM ${table}`,
  };
}

export const selectTableNames =
  "SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = ANY($2::text[])";

export async function loadMark(queries: Queries, names: Names): Promise<LoadMark | undefined> {
  const [isMarked] = await queries.query(selectTableNames, [names.schema, [loadTable]]);
  if (isMarked === undefined) return undefined;
  const [row] = await queries.query(loadMarkSql(names).select);
  return row === undefined ? undefined : { dump: text(row, at.dump), lines: integerOrNull(row, at.lines) };
}
