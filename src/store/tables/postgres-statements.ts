import type { AnyTable, WrittenColumn } from "./table.ts";
import { postgresTypes } from "./ddl.ts";

/** Writes rows, with one parameter for each column: the arrays that `byColumn` makes of their `values`. */
export function insertRows(table: AnyTable, name: string): string {
  const columns = table.written.map((column) => column.name).join(", ");
  return `INSERT INTO ${name} (${columns}) SELECT * FROM unnest(${arrays(table.written)})`;
}

/** The same; of a row with the same key, columns that are written once stay as they are. */
export function upsertRows(table: AnyTable, name: string): string {
  const changed = table.written.filter(({ isWrittenOnce }) => !isWrittenOnce);
  return `${insertRows(table, name)} ON CONFLICT (${table.key.join(", ")}) DO UPDATE SET
    ${changed.map((column) => `${column.name} = excluded.${column.name}`).join(", ")}`;
}

/** Writes these columns of rows: the first parameter has the ids. */
export function updateRows(table: AnyTable, name: string, columns: readonly string[]): string {
  const changed = table.written.filter((column) => columns.includes(column.name));
  return `UPDATE ${name} SET ${changed.map((column) => `${column.name} = changed.${column.name}`).join(", ")}
    FROM unnest($1::text[], ${arrays(changed, 2)}) AS changed (id, ${changed.map((column) => column.name).join(", ")})
    WHERE ${table.table}.id = changed.id`;
}

/** The columns of rows, for `unnest`. */
export function byColumn<T>(rows: readonly (readonly T[])[]): (readonly (T | null)[])[] {
  return (rows[0] ?? []).map((_, place) => rows.map((row) => row[place] ?? null));
}

/** Collations do not matter here. */
function arrays(columns: readonly WrittenColumn[], from = 1): string {
  return columns.map(({ type }, index) => `$${index + from}::${postgresTypes[type]}[]`).join(", ");
}
