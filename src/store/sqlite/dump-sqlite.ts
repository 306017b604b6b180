import { statSync } from "node:fs";
import { hostname } from "node:os";
import { pathToFileURL } from "node:url";
import { assertNodeVersion } from "../../task/package.ts";
import { dumpSource, type DumpSetup, type DumpSource, type MadeDump } from "../dump.ts";
import { columnList, rowOf, taskTable, type DumpTable } from "../dump-tables.ts";
import { refuseWhileLoading } from "../load-mark.ts";
import { connect } from "./connect.ts";
import { existingDatabase } from "./database-path.ts";
import { loadMark } from "./load-mark.ts";
import { assertMigrated } from "./migrate.ts";
import type { Original } from "./original-mark.ts";
import { Statements } from "./statements.ts";
import { unusable } from "./unusable.ts";

/** How long to wait while another process recovers the log. */
const busyMs = 10_000;

/**
 * Dumps a database as of one moment, while its owners keep writing. Rejects with `configuration` if the file exists, and with
 * `store_unusable` if the database is not ours.
 */
export async function dumpSqlite(path: string, file: string, setup: DumpSetup): Promise<MadeDump> {
  assertNodeVersion(process.versions.node);
  const database = existingDatabase(path);
  try {
    const url = pathToFileURL(database);
    url.searchParams.set("mode", "rw"); // only a writer can read what a crash left in the log
    const db = connect(url, { timeout: busyMs });
    try {
      assertMigrated(db, database);
      db.exec("BEGIN");
      const statements = new Statements(db);
      refuseWhileLoading(database, loadMark(statements) !== undefined);
      return await dumpSource(sourceIn(statements, originalOf(database)), file, setup);
    } finally {
      db.close();
    }
  } catch (error) {
    throw unusable(database, error);
  }
}

function originalOf(path: string): Original {
  return { host: hostname(), path, file: String(statSync(path, { bigint: true }).ino) };
}

const selectVersions = "SELECT id, version FROM task WHERE id > ? ORDER BY id LIMIT ?";

function sourceIn(statements: Statements, original: Original): DumpSource {
  return {
    store: "sqlite",
    original: { ...original },
    versions: async (after, limit) =>
      statements.all(selectVersions, after, limit).map(([id, version]) => [String(id), Number(version)]),
    async *of(table, ids) {
      const rows = statements.rows(selectOf(table));
      for (const id of ids) for (const values of rows.iterate(id)) yield rowOf(table, values);
    },
    async *whole(table) {
      for (const values of statements.rows(selectWhole(table)).iterate()) yield rowOf(table, values);
    },
  };
}

/** The rows of one task. */
function selectOf(table: DumpTable): string {
  const key = table === taskTable ? "id" : "task_id";
  return `SELECT ${columnList(table)} FROM ${table.name} WHERE ${key} = ? ORDER BY ${table.order}`;
}

/** A message that is bound to a process is of no use to any other. */
function selectWhole(table: DumpTable): string {
  const where = table.name === "message" ? " WHERE owner IS NULL" : "";
  return `SELECT ${columnList(table)} FROM ${table.name}${where} ORDER BY ${table.order}`;
}
