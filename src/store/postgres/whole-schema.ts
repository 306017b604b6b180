import type { Row } from "../row.ts";
import type { Queries } from "./database.ts";
import type { Names } from "./names.ts";

/** All tables of a schema, whichever migrations created them. */
export async function tablesOf(queries: Queries, { schema }: Names): Promise<readonly string[]> {
  const rows = await queries.query(
    "SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = $1 ORDER BY tablename",
    [schema],
  );
  return rows.map(firstText);
}

/** A table as statements name it. */
export function tableIn({ quoted }: Names, table: string): string {
  return `${quoted}."${table.replaceAll('"', '""')}"`;
}

/** The text of a row's first column. */
export function firstText(row: Row | undefined): string {
  return String(row?.[0] ?? "");
}

/** The number of a row's first column. */
export function firstNumber(row: Row | undefined): number {
  return Number(row?.[0] ?? 0);
}

/** Disables the timeouts of the role and the database, for work without a time limit. */
export const withoutTimeouts =
  "SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0";
