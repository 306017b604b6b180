import type { Names } from "../names.ts";

/** When journal entries began. Processes of earlier versions write entries without it, and keep existing values. */
export function begunAt(names: Names): string {
  return `ALTER TABLE ${names.journal} ADD COLUMN begun_at bigint`;
}
