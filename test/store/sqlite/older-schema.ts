import { DatabaseSync } from "node:sqlite";
import { migrate, migrations } from "../../../src/store/sqlite/migrate.ts";
import { rowOf, taskColumns } from "../../../src/store/sqlite/record-row.ts";
import type { TaskRecord } from "../../../src/task/record.ts";

/** Writes a file as the schema of that number left it, with what it knew of these tasks; `more` adds the rest. */
export function writeOlderSchema(
  path: string,
  schema: number,
  tasks: readonly TaskRecord[],
  more: (db: DatabaseSync) => void,
): void {
  const db = new DatabaseSync(path);
  migrate(db, migrations.slice(0, schema));
  const known = db.prepare("SELECT name FROM pragma_table_info('task')").all();
  const columns = known.map(({ name }) => String(name));
  const places = columns.map(() => "?").join(", ");
  const insert = db.prepare(`INSERT INTO task (${columns.join(", ")}) VALUES (${places})`);
  for (const task of tasks) {
    const row = rowOf(task);
    insert.run(...columns.map((name) => row[taskColumns.findIndex((column) => column === name)] ?? null));
  }
  more(db);
  db.close();
}

/** The owner of a process that was killed. */
export function addGoneOwner(db: DatabaseSync): void {
  db.exec("INSERT INTO owner (id, pid, host, since, handlers) VALUES ('gone', 0, '', '', '[]')");
}
