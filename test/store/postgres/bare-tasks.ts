import { inClear } from "../../../src/store/row.ts";
import { rowOf, taskTable } from "../../../src/store/tables/task.ts";
import { queuedRecord } from "../../contract/sample-task.ts";

/** Inserts tasks with these columns, as SQL, of the rows after `from`; in all other columns they have what a queued task has. */
export function bareTasks(table: string, columns: Readonly<Record<string, string>>, from = ""): string {
  const row = rowOf({ ...queuedRecord(), wireId: "", principal: null, idempotencyKey: null }, inClear);
  const values = taskTable.written.map(({ name }, place) => {
    const value = row[place] ?? null;
    const literal = typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : String(value ?? "NULL");
    return columns[name] ?? (name === "wire_id" ? "NULL" : literal);
  });
  return `INSERT INTO ${table} (${taskTable.written.map(({ name }) => name).join(", ")}) SELECT ${values.join(", ")} ${from}`;
}
