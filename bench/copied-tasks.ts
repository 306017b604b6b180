import { existsSync } from "node:fs";
import { mkdtemp, rename } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Connection } from "./client/connection.ts";
import { ServerProcess } from "./server-process.ts";

/** The tables with rows of a task. */
const tables = ["task", "request", "journal", "outcome"] as const;
/** Copies are older than the original task, each by so much than the next one that the oldest is not expired yet. */
const apartMsOf = (count: number): number => Math.min(20, Math.floor(43_200_000 / count));
const times = ["created_at", "updated_at", "finished_at", "started_at", "sweep_at", "run_until"];

/** Creates the one task of a server that is copied. */
export type MakeTask = (connection: Connection, url: string) => Promise<unknown>;

/**
 * The path of a database in `folder` with this many tasks of a kind, created if missing. A server creates one task, and SQL copies it,
 * because a million calls would take minutes.
 */
export async function copiedTasks(
  folder: string,
  kind: string,
  count: number,
  makeTask: MakeTask,
): Promise<string> {
  const path = join(folder, `${kind}-${count}.db`);
  if (existsSync(path)) return path;
  const made = await madeBy("./servers/holdfast.ts", folder, makeTask);
  copyTask(made, count);
  await rename(made, path); // only now: others must not find a half-written file
  return path;
}

/** The path of a database, in its own folder below `folder`, with what a server leaves in it when it stops. */
export async function madeBy(script: string, folder: string, makeTask: MakeTask): Promise<string> {
  const own = await mkdtemp(join(folder, "made-"));
  const database = join(own, "tasks.db");
  const server = await ServerProcess.start(script, own, { HOLDFAST_STORE: `sqlite:${database}` });
  try {
    await Connection.withOne(server.url, (connection) => makeTask(connection, server.url));
  } finally {
    await server.stop();
  }
  return database;
}

/** No other process uses the file, and a half-written one is useless, so it needs neither a journal nor an fsync. */
export function copyTask(database: string, count: number): void {
  const db = new DatabaseSync(database);
  try {
    db.exec("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -200000");
    for (const table of tables) db.exec(copies(db, table, count - 1));
  } finally {
    db.close();
  }
}

function copies(db: DatabaseSync, table: (typeof tables)[number], count: number): string {
  const apartMs = apartMsOf(count);
  const rows = db.prepare("SELECT name FROM pragma_table_info(?) WHERE name <> 'seq'").all(table);
  const columns = rows.map(({ name }) => String(name));
  const id = table === "task" ? "id" : "task_id";
  const values = columns.map((column) => {
    if (column === id) return `printf('%012x%022x', newest.created_at - n * ${apartMs}, n)`;
    return times.includes(column) ? `original.${column} - n * ${apartMs}` : `original.${column}`;
  });
  return `
    WITH RECURSIVE
      newest AS MATERIALIZED (SELECT id, created_at FROM task ORDER BY id DESC LIMIT 1),
      original AS MATERIALIZED (SELECT * FROM ${table} WHERE ${id} = (SELECT id FROM newest)),
      copy (n) AS (SELECT ${count} UNION ALL SELECT n - 1 FROM copy WHERE n > 1)
    INSERT INTO ${table} (${columns.join(", ")}) SELECT ${values.join(", ")} FROM copy, newest, original`;
}

/** The ids of random tasks. */
export function someTaskIds(database: string, count: number): string[] {
  const db = new DatabaseSync(database, { readOnly: true });
  try {
    return db
      .prepare("SELECT id FROM task ORDER BY random() LIMIT ?")
      .all(count)
      .map(({ id }) => String(id));
  } finally {
    db.close();
  }
}
