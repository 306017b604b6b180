import { DatabaseSync } from "node:sqlite";

/** So far apart copies were made (ms). */
const apartMs = 300;

/** Copies the tasks of a database that nobody has open until there are about so many, older than they are and of many callers. */
export function copyTasks(path: string, count: number): void {
  const db = new DatabaseSync(path);
  const copied = (table: string, values: Readonly<Record<string, string>>): string => {
    const names = db
      .prepare(`SELECT name FROM pragma_table_info('${table}')`)
      .all()
      .map(({ name }) => String(name));
    return `INSERT INTO ${table} (${names.join(", ")}) SELECT ${names.map((name) => values[name] ?? name).join(", ")} FROM ${table}, number`;
  };
  const { tasks, oldest } =
    db.prepare("SELECT count(*) AS tasks, min(created_at) AS oldest FROM task").get() ?? {};
  const each = Math.ceil(count / Number(tasks));
  const firstMade = Number(oldest) - (each + 1) * apartMs;
  const numbers = "WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?)";
  // Ids begin with the time at which tasks were made.
  const id = (column: string): string =>
    `printf('%012x', ${firstMade} + n * ${apartMs}) || substr(${column}, 13)`;
  db.exec("BEGIN");
  db.prepare(`${numbers} ${copied("outcome", { task_id: id("task_id") })}`).run(each);
  db.prepare(`${numbers} ${copied("request", { task_id: id("task_id") })}`).run(each);
  const changed = {
    id: id("id"),
    wire_id: id("wire_id"),
    principal: "'caller-' || (n % 100)",
    idempotency_key: "NULL",
    created_at: `${firstMade} + n * ${apartMs}`,
  };
  db.prepare(`${numbers} ${copied("task", changed)}`).run(each);
  db.exec("COMMIT; ANALYZE");
  db.close();
}
