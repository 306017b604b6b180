/**
 * A store on somebody else's database: whatever speaks SQLite's SQL, in whatever way it keeps what it was told. Everything that a store does
 * is done here: commands are decided, planned and applied to the tables, and what is asked of a store is read from them.
 * - The database is used by one owner at a time. Whoever opens it must keep others out.
 * - Nothing is acknowledged before `transaction` returns.
 */

import type { SQLInputValue, SQLOutputValue } from "node:sqlite";
import { HoldfastError } from "../../task/fault.ts";
import { gap } from "./change-log.ts";
import { openHere } from "./memory-store.ts";
import { migrations } from "./schema.ts";
import { columnsOf, integer } from "../row.ts";
import { messageOf } from "./sqlite-error.ts";
import { type Connection } from "./statements.ts";
import { StoreOnSqlite, type OpenDatabase, type Publisher } from "./store-on-sqlite.ts";
import type { StoreOwner } from "../../task/queue.ts";
import type { TaskStore } from "../store.ts";

/** The version of the port for databases. It changes with what a `TableDatabase` must do. */
export const tablePort = 1;

/** The tables of a store. */
export interface StoreTables {
  /** Counts the changes of the tables: data that is kept in tables of another version cannot be used with these. */
  readonly version: number;
  /** The statements that make the tables, their indexes and their triggers in an empty database. */
  readonly script: string;
}

/** The tables as this version of Holdfast uses them. */
export const storeTables: StoreTables = {
  version: migrations.length,
  script: `${migrations.join("\n")}\nPRAGMA user_version = ${migrations.length};`,
};

/** A prepared statement. */
export interface TableStatement {
  /** The first row, or undefined. A row is an array of values; integers beyond the safe ones must come as bigints. */
  get(...values: readonly SQLInputValue[]): readonly SQLOutputValue[] | undefined;
  all(...values: readonly SQLInputValue[]): readonly (readonly SQLOutputValue[])[];
  /** Returns the number of changed rows. */
  run(...values: readonly SQLInputValue[]): number;
}

/**
 * A connection to a database that this process alone uses. Errors of SQLite must have its extended result code as `errcode`, like those of
 * `node:sqlite`.
 */
export interface TableConnection {
  prepare(sql: string): TableStatement;
  /** Runs `work` in a transaction, and returns once what it changed is durable. If it throws, nothing must have changed. */
  transaction<T>(work: () => T): T;
  close(): void;
}

/** A database for `storeOnTables`. */
export interface TableDatabase {
  /** The version of the port that it was written for: `tablePort` at that time. */
  readonly port: number;
  /** Names it in messages. */
  readonly name: string;
  /**
   * Opens the database with the tables, which it makes if it is new. Called once for each store. Must reject if another process has the
   * database open, and if it has tables of another version.
   */
  open(tables: StoreTables): Promise<TableConnection>;
}

/**
 * A store with everything that the others have, on a database of your own. `open` rejects with `store_unusable` if the database was written
 * for another version of this port, or has tables of another version.
 *
 * ```ts
 * import { createTasks } from "holdfast";
 * import { storeOnTables } from "holdfast/store";
 * import { loggedDatabase } from "./logged-database.ts";
 *
 * const tasks = createTasks({ store: storeOnTables(loggedDatabase("tasks.log")) });
 * ```
 */
export function storeOnTables(database: TableDatabase): TaskStore {
  return new StoreOnSqlite(database.name, (owner, publisher) => openTables(database, owner, publisher));
}

async function openTables(
  database: TableDatabase,
  owner: StoreOwner,
  publisher: Publisher,
): Promise<OpenDatabase> {
  const { port, name: place } = database;
  if (port !== tablePort)
    throw unusable(
      `${place} was written for version ${port} of Holdfast's port for databases; this one has version ${tablePort}`,
    );
  const connection = await opened(database);
  try {
    assertTables(connection, place);
    const open = await openHere({
      place,
      owner,
      publisher,
      db: connectionOf(connection),
      lives: (id) => id === owner.id,
      tellOthers: () => undefined,
    });
    const close = async (): Promise<void> => {
      await open.close();
      connection.close();
    };
    return { ...open, forget: () => publisher.committedByOthers(gap), close };
  } catch (error) {
    connection.close();
    throw error;
  }
}

async function opened(database: TableDatabase): Promise<TableConnection> {
  try {
    return await database.open(storeTables);
  } catch (error) {
    if (error instanceof HoldfastError) throw error;
    throw unusable(`${database.name} cannot be used: ${messageOf(error)}`, error);
  }
}

const versionAt = columnsOf(["user_version"]);

function assertTables(connection: TableConnection, place: string): void {
  const row = connection.prepare("PRAGMA user_version").get();
  const version = row === undefined ? 0 : integer(row, versionAt.user_version);
  if (version !== storeTables.version)
    throw unusable(
      `${place} has tables of version ${version}; this version of Holdfast needs version ${storeTables.version}`,
    );
}

function unusable(problem: string, cause?: unknown): HoldfastError {
  return new HoldfastError("store_unusable", `${problem}.`, { cause });
}

/** The connection as statements use one of ours. All that reads sees one state anyway: nothing else runs during a read. */
function connectionOf(connection: TableConnection): Connection {
  return {
    isTransaction: true,
    transaction: (work) => connection.transaction(work),
    close: () => connection.close(),
    exec: () => {
      throw new TypeError("Not for a database of others.");
    },
    prepare: (sql) => {
      const statement = connection.prepare(sql);
      const rows = {
        setReturnArrays: () => undefined,
        get: (...values: SQLInputValue[]) => statement.get(...values),
        all: (...values: SQLInputValue[]) => statement.all(...values),
        iterate: (...values: SQLInputValue[]) => statement.all(...values),
        run: (...values: SQLInputValue[]) => ({ changes: statement.run(...values), lastInsertRowid: 0 }),
      };
      return rows as unknown as ReturnType<Connection["prepare"]>;
    },
  };
}
