import { existsSync } from "node:fs";
import { mkdtemp, rename } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { finishedTask } from "./client/answers.ts";
import { Connection } from "./client/connection.ts";
import { StatelessRequests } from "./client/requests.ts";
import { ServerProcess } from "./server-process.ts";

/** What the server's own task has rows in. */
const tables = ["task", "request", "outcome"] as const;
/** The copies are older than the task that they are made of, each by this much than the next one. */
const apartMs = 20;
const times = ["created_at", "updated_at", "finished_at", "started_at", "sweep_at", "run_until"];

/**
 * The path of a database in `folder` with so many finished tasks, made where it is not there yet: a server makes one task, and
 * SQL copies it, since a million calls would take minutes.
 */
export async function retainedTasks(folder: string, count: number): Promise<string> {
  const path = join(folder, `retained-${count}.db`);
  if (existsSync(path)) return path;
  const made = join(await mkdtemp(join(folder, "retained-")), "tasks.db");
  await makeOne(made);
  copyTask(made, count);
  await rename(made, path); // only now: others must not find half of it
  return path;
}

async function makeOne(database: string): Promise<void> {
  const server = await ServerProcess.start("./servers/holdfast.ts", join(database, ".."), {
    HOLDFAST_STORE: `sqlite:${database}`,
  });
  try {
    await Connection.with(server.url, 1, async ([connection]) => {
      if (connection === undefined) throw new Error("There is no connection.");
      await finishedTask(connection, new StatelessRequests(server.url));
    });
  } finally {
    await server.stop();
  }
}

/** Nobody else has the file, and one that is half written is of no use: so neither a journal nor an fsync. */
function copyTask(database: string, count: number): void {
  const db = new DatabaseSync(database);
  try {
    db.exec("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -200000");
    for (const table of tables) db.exec(copies(db, table, count - 1));
  } finally {
    db.close();
  }
}

function copies(db: DatabaseSync, table: (typeof tables)[number], count: number): string {
  const rows = db.prepare("SELECT name FROM pragma_table_info(?)").all(table);
  const columns = rows.map(({ name }) => String(name));
  const ids = table === "task" ? ["id", "wire_id"] : ["task_id"];
  const values = columns.map((column) => {
    if (ids.includes(column)) return `printf('%012x%022x', newest.created_at - n * ${apartMs}, n)`;
    return times.includes(column) ? `original.${column} - n * ${apartMs}` : `original.${column}`;
  });
  return `
    WITH RECURSIVE
      newest AS MATERIALIZED (SELECT id, created_at FROM task ORDER BY id DESC LIMIT 1),
      original AS MATERIALIZED (SELECT * FROM ${table} WHERE ${ids[0]} = (SELECT id FROM newest)),
      copy (n) AS (SELECT ${count} UNION ALL SELECT n - 1 FROM copy WHERE n > 1)
    INSERT INTO ${table} (${columns.join(", ")}) SELECT ${values.join(", ")} FROM copy, newest, original`;
}

/** The ids of some tasks, at random. */
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
