import { statSync } from "node:fs";
import { hostname } from "node:os";
import { pathToFileURL } from "node:url";
import { isUnreadable } from "../../task/fault.ts";
import { assertNodeVersion } from "../../task/package.ts";
import { inClear } from "../codec.ts";
import { dumpSource, type DumpSetup, type DumpSource, type MadeDump } from "../dump.ts";
import { rowOf, type DumpedTask, type DumpRow, type DumpTable } from "../dump-tables.ts";
import { refuseWhileLoading } from "../load-mark.ts";
import { integer, textOrNull } from "../row.ts";
import { connect } from "./connect.ts";
import { existingDatabase } from "./database-path.ts";
import { loadMark } from "./load-mark.ts";
import { assertMigrated } from "./migrate.ts";
import type { Original } from "./original-mark.ts";
import { recordAt, recordOf } from "./record-row.ts";
import { selectTask } from "./sql.ts";
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

export const selectVersions = "SELECT id, version FROM task WHERE id > ? ORDER BY id LIMIT ?";

function sourceIn(statements: Statements, original: Original): DumpSource {
  return {
    store: "sqlite",
    original: { ...original },
    versions: async (after, limit) =>
      statements.all(selectVersions, after, limit).map(([id, version]) => [String(id), Number(version)]),
    tasks: async (ids) => new Map(ids.flatMap((id) => taskIn(statements, id))),
    async *parts(table, ids) {
      const sql = selectParts(table);
      for (const id of ids) {
        let place = 0;
        for (const values of statements.rows(sql).iterate(id)) {
          const row = rowOf<DumpRow>(table, values);
          yield table.name === "journal" ? { ...row, place: place++ } : row;
        }
      }
    },
    async *whole(table) {
      for (const values of statements.rows(selectWhole(table)).iterate()) yield rowOf(table, values);
    },
  };
}

/** None if it is damaged. */
function taskIn(statements: Statements, id: string): [string, DumpedTask][] {
  const row = statements.get(selectTask, id);
  if (row === undefined) return [];
  try {
    const record = JSON.stringify(recordOf(row, inClear));
    const [version, proof] = [integer(row, recordAt.version), textOrNull(row, recordAt.proof)];
    return [[id, { id: String(row[recordAt.id.place]), version, record, proof }]];
  } catch (error) {
    if (isUnreadable(error)) return [];
    throw error;
  }
}

export function selectParts({ name, columns, order }: DumpTable): string {
  return `SELECT ${columns.join(", ")} FROM ${name} WHERE task_id = ? ORDER BY ${order}`;
}

/** A message that is bound to a process is of no use to any other. */
export function selectWhole({ name, columns, order }: DumpTable): string {
  const where = name === "message" ? " WHERE owner IS NULL" : "";
  return `SELECT ${columns.join(", ")} FROM ${name}${where} ORDER BY ${order}`;
}
