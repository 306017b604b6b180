import { existsSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { HoldfastError } from "../../task/fault.ts";
import { assertNodeVersion } from "../../task/package.ts";
import {
  beginLoad,
  checkDump,
  loadDump,
  markFor,
  type CheckedDump,
  type LoadBatch,
  type LoadSetup,
  type LoadTarget,
} from "../load.ts";
import { notEmpty, otherLoad, type LoadMark } from "../load-mark.ts";
import { columnList, wholeTables, type DumpRow, type DumpTable } from "../dump-tables.ts";
import { beginWrite } from "./begin-write.ts";
import { databasePath } from "./database-path.ts";
import { createLoadMark, dropLoadMark, insertLoadMark, loadMark, moveLoadMark } from "./load-mark.ts";
import { keepClosed } from "./open-database.ts";
import { refuseToReplace } from "./open-file.ts";
import { markOriginal, type Original } from "./original-mark.ts";
import { isAnyLocked } from "./owner-lock.ts";
import { createFile } from "./private-files.ts";
import * as sql from "./sql.ts";
import { deletes } from "./sqlite-tables.ts";
import { Statements } from "./statements.ts";
import { unusable } from "./unusable.ts";
import { openWriterConnection } from "./writer-connection.ts";

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
class SqliteTarget implements LoadTarget {
  readonly #database: string;
  readonly #db: DatabaseSync;
  readonly #sql: Statements;
  readonly #original: Original | undefined;

  constructor(database: string, db: DatabaseSync, original: Original | undefined) {
    this.#database = database;
    this.#db = db;
    this.#sql = new Statements(db);
    this.#original = original;
  }

  async mark(): Promise<LoadMark | undefined> {
    return loadMark(this.#sql);
  }

  async begin({ dump, lines }: LoadMark): Promise<void> {
    this.#inTransaction(() => {
      if (this.#sql.get(selectContent) !== undefined) throw notEmpty(this.#database);
      this.#db.exec(createLoadMark);
      this.#sql.run(insertLoadMark, dump, lines);
    });
  }

  async ids(after: string, upTo: string | undefined, limit: number): Promise<readonly string[]> {
    const end = upTo ?? null;
    return this.#sql.all(selectIds, after, end, end, limit).map(([id]) => String(id));
  }

  async write({ removes, empties, rows, from, to }: LoadBatch): Promise<void> {
    this.#inTransaction(() => {
      if (this.#sql.run(moveLoadMark, to.dump, to.lines, from.dump, from.lines) !== 1) throw otherLoad();
      for (const id of removes)
        for (const statement of [...deletes, sql.deleteAllPieces, sql.deleteChild])
          this.#sql.run(statement, id);
      if (empties) for (const { name } of wholeTables) this.#sql.run(`DELETE FROM ${name}`);
      for (const [table, each] of rows) this.#insert(table, each);
    });
  }

  async open(): Promise<void> {
    this.#inTransaction(() => {
      this.#db.exec(dropLoadMark);
      markOriginal(this.#db, this.#original);
    });
  }

  close(): void {
    this.#db.close();
  }

  #insert(table: DumpTable, rows: readonly DumpRow[]): void {
    const places = table.columns.map(() => "?").join(", ");
    const insert = `INSERT INTO ${table.name} (${columnList(table)}) VALUES (${places})`;
    for (const row of rows) this.#sql.run(insert, ...table.columns.map(({ name }) => row[name] ?? null));
  }

  #inTransaction(write: () => void): void {
    beginWrite(this.#db, turnMs);
    try {
      write();
      this.#db.exec("COMMIT");
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
      throw error;
    }
  }
}

const selectIds = "SELECT id FROM task WHERE id > ? AND (? IS NULL OR id <= ?) ORDER BY id LIMIT ?";

const selectContent = ["task", "session", "action", "bulk_job", "delivery", "paused_tool"]
  .map((name) => `SELECT 1 FROM (SELECT 1 FROM ${name} LIMIT 1)`)
  .join(" UNION ALL ");
