import type { Names } from "../names.ts";

/** When entries of journals began. Processes of the versions before write entries without it, and keep what others wrote there. */
export function begunAt(names: Names): string {
  return `ALTER TABLE ${names.journal} ADD COLUMN begun_at bigint`;
}
