import { existsSync, statSync } from "node:fs";
import { hostname } from "node:os";
import { pathToFileURL } from "node:url";
import type { DatabaseSync } from "node:sqlite";
import { assertNodeVersion } from "../../task/package.ts";
import { type DumpSetup, dumpSource, type DumpSource, type MadeDump } from "../dump.ts";
import type { Query, Reading } from "../dialect.ts";
import { columnList, type DumpRow, type DumpTable, rowOf, taskTable } from "../dump-tables.ts";
import { type LoadMark, refuseWhileLoading } from "../load-mark.ts";
import { idsSql, loadSql, TableTarget } from "../load-target.ts";
import { connect } from "./connect.ts";
import { Statements, unusable } from "./statements.ts";
import { databasePath, existingDatabase, refuseToReplace } from "./open-file.ts";
import { loadMark, marksOriginal, type Original } from "./original-mark.ts";
import { assertMigrated } from "./schema.ts";
import { HoldfastError } from "../../task/fault.ts";
import { beginLoad, checkDump, type CheckedDump, loadDump, type LoadSetup, markFor } from "../load.ts";
import { keepClosed } from "./open-database.ts";
import { isAnyLocked } from "./sqlite-owners.ts";
import { createFile } from "./private-files.ts";
import { openWriterConnection } from "./writer-connection.ts";

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

/** How long to wait for the turn to write. */
const turnMs = 10_000;

/**
 * Loads a dump into a database, which is made if there is none. Rejects with `configuration` if it is not empty, with `store_locked` while
 * processes have it open, or had an earlier file of that name open, and with `store_unusable` for an unusable dump.
 */
export async function loadSqlite(path: string, file: string, setup: LoadSetup): Promise<CheckedDump> {
  assertNodeVersion(process.versions.node);
  const checked = await checkDump(file, setup);
  const database = databasePath(path);
  let target: SqliteTarget | undefined;
  try {
    if (!existsSync(database)) markFor(checked.header, undefined);
    target = await targetAt(database, checked, setup.beside);
    await loadDump(file, checked, target, setup);
    return checked;
  } catch (error) {
    throw unusable(database, error);
  } finally {
    target?.close();
  }
}

/** Nobody opens the database before it has its mark, which keeps servers out afterwards. */
async function targetAt(database: string, checked: CheckedDump, beside: boolean): Promise<SqliteTarget> {
  const opening = keepClosed(database);
  try {
    refuseToReplace(database);
    if (isAnyLocked(database))
      throw new HoldfastError(
        "store_locked",
        `${database} is open in another process. Stop it before you load a dump into it.`,
      );
    createFile(database, 0o600);
    const options = { path: database, busyTimeoutMs: turnMs, maxBytes: null, migrate: true };
    const { store, original } = checked.header;
    const isOriginal = store === "sqlite" && !beside;
    const target = new SqliteTarget(
      database,
      openWriterConnection(options),
      isOriginal ? (original as unknown as Original) : undefined,
    );
    try {
      await beginLoad(checked, target);
      return target;
    } catch (error) {
      target.close();
      throw error;
    }
  } finally {
    opening.release();
  }
}

/** The database that is filled. */
class SqliteTarget extends TableTarget {
  readonly #db: DatabaseSync;
  readonly #sql: Statements;
  readonly #original: Original | undefined;

  constructor(database: string, db: DatabaseSync, original: Original | undefined) {
    super(database, { ...loadSql((table) => table, "sqlite"), ids: idsSql("task", "sqlite") });
    this.#db = db;
    this.#sql = new Statements(db);
    this.#original = original;
  }

  async mark(): Promise<LoadMark | undefined> {
    return loadMark(this.#sql);
  }

  close(): void {
    this.#db.close();
  }

  protected async transaction<T>(reading: Reading<T>): Promise<T> {
    return this.#sql.transaction(turnMs, () => this.#sql.read(reading));
  }

  protected insert(table: DumpTable, rows: readonly DumpRow[]): Iterable<Query> {
    const places = table.columns.map(() => "?").join(", ");
    const sql = `INSERT INTO ${table.name} (${columnList(table)}) VALUES (${places})`;
    return rows.map((row) => ({ sql, values: table.columns.map(({ name }) => row[name] ?? null) }));
  }

  protected finish(): Iterable<Query> {
    return marksOriginal(this.#original);
  }
}
