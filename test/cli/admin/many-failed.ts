import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { withClient } from "../../postgres/with-client.ts";
import type { Place } from "./some-place.ts";

/** What a settled task has rows in, with the column of its id. */
const tables = { task: "id", request: "task_id", outcome: "task_id" } as const;

/**
 * Copies a settled task so many times: older than what is made from now on, and with ids from `first` on. Nobody may have the store open.
 */
export async function copyTask(place: Place, id: string, first: number, count: number): Promise<void> {
  if (place.url.startsWith("sqlite:")) copyInFile(join(place.cwd, "tasks.db"), id, first, count);
  else await copyInSchema(place.url, id, first, count);
}

function copyInFile(path: string, id: string, first: number, count: number): void {
  const db = new DatabaseSync(path, { timeout: 20_000 });
  try {
    db.exec("BEGIN");
    for (const [table, key] of Object.entries(tables)) {
      const columns = db
        .prepare("SELECT name FROM pragma_table_info(?)")
        .all(table)
        .map(({ name }) => String(name));
      const copied = columns.map(
        (name) => `CASE typeof(t.${name}) WHEN 'text' THEN replace(t.${name}, $id, n.id) ELSE t.${name} END`,
      );
      db.prepare(
        `WITH RECURSIVE n (i, id) AS (SELECT $first, substr($id, 1, 12) || printf('%022d', $first)
           UNION ALL SELECT i + 1, substr($id, 1, 12) || printf('%022d', i + 1) FROM n WHERE i + 1 < $first + $count)
         INSERT INTO ${table} (${columns.join(", ")}) SELECT ${copied.join(", ")} FROM n, ${table} AS t WHERE t.${key} = $id`,
      ).run({ $id: id, $first: first, $count: count });
    }
    db.exec("COMMIT; ANALYZE");
  } finally {
    db.close();
  }
}

async function copyInSchema(given: string, id: string, first: number, count: number): Promise<void> {
  const url = new URL(given);
  const schema = url.searchParams.get("schema") ?? "";
  url.searchParams.delete("schema");
  await withClient(url.href, async (client) => {
    for (const [table, key] of Object.entries(tables)) {
      const { rows } = await client.query<{ name: string; type: string }>(
        `SELECT column_name AS name, data_type AS type FROM information_schema.columns
           WHERE table_schema = $1 AND table_name = $2 AND is_identity = 'NO'`,
        [schema, table],
      );
      const copied = rows.map(({ name, type }) =>
        type === "text" ? `replace(t.${name}, $1, n.id)` : `t.${name}`,
      );
      await client.query(
        `INSERT INTO ${schema}.${table} (${rows.map(({ name }) => name).join(", ")}) SELECT ${copied.join(", ")}
           FROM ${schema}.${table} AS t, LATERAL (SELECT substr($1, 1, 12) || lpad(i::text, 22, '0') AS id
             FROM generate_series($2::int, $2::int + $3::int - 1) AS i) AS n WHERE t.${key} = $1`,
        [id, first, count],
      );
      await client.query(`ANALYZE ${schema}.${table}`);
    }
  });
}
