import type { AnyTable } from "./table.ts";

/** Writes a row of `values`. */
export function insertInto(table: AnyTable): string {
  return `INSERT INTO ${intoText(table)}`;
}

/** The same, in place of one with the same key. */
export function replaceInto(table: AnyTable): string {
  return `INSERT OR REPLACE INTO ${intoText(table)}`;
}

/** The same; columns that are written once stay as they are. */
export function upsertInto(table: AnyTable): string {
  const changed = table.written.filter(({ isWrittenOnce }) => !isWrittenOnce);
  return `${insertInto(table)} ON CONFLICT (${table.key.join(", ")}) DO UPDATE SET
    ${changed.map(({ name }) => `${name} = excluded.${name}`).join(", ")}`;
}

function intoText({ table, written }: AnyTable): string {
  return `${table} (${written.map(({ name }) => name).join(", ")}) VALUES (${written.map(() => "?").join(", ")})`;
}
