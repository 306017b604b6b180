import { closeSync, fsyncSync, ftruncateSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import type { StoreTables, TableConnection, TableDatabase, TableStatement } from "holdfast/store";

// A database of your own for Holdfast: tasks are in memory, and each transaction is a line of a log, which is on disk before anybody learns
// of it. The next process does what the log says. A log that never ends would be written anew now and then.

/** A statement and its values. */
type Change = readonly [sql: string, ...values: SQLInputValue[]];

export function loggedDatabase(path: string): TableDatabase {
  return { port: 1, name: path, open: async (tables) => new LoggedConnection(path, tables) };
}

class LoggedConnection implements TableConnection {
  // Integers that no number can hold must not make a whole page of rows fail.
  readonly #db = new DatabaseSync(":memory:", { readBigInts: true, enableForeignKeyConstraints: false });
  readonly #unlock: () => void;
  readonly #log: number;
  /** The size of the log up to its last whole line. */
  #size = 0;
  #changes: Change[] = [];

  constructor(path: string, tables: StoreTables) {
    this.#unlock = lock(`${path}.lock`);
    this.#log = openSync(path, "a+");
    try {
      this.#db.exec(tables.script);
      this.#replay(path, tables.version);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  prepare(sql: string): TableStatement {
    const statement = this.#db.prepare(sql);
    statement.setReturnArrays(true);
    // A DELETE may return the rows that it deletes.
    const isRead = /^\s*(SELECT|PRAGMA|WITH)\b/i.test(sql);
    const done = <T>(values: readonly SQLInputValue[], run: (statement: StatementSync) => T): T => {
      const result = run(statement);
      if (!isRead) this.#changes.push([sql, ...values]);
      return result;
    };
    return {
      get: (...values) => done(values, (of) => of.get(...values)) as never,
      all: (...values) => done(values, (of) => of.all(...values)) as never,
      run: (...values) => done(values, (of) => Number(of.run(...values).changes)),
    };
  }

  transaction<T>(work: () => T): T {
    this.#changes = [];
    this.#db.exec("BEGIN");
    try {
      const result = work();
      if (this.#changes.length > 0) this.#append(this.#changes);
      this.#db.exec("COMMIT");
      return result;
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
      throw error;
    }
  }

  close(): void {
    this.#db.close();
    closeSync(this.#log);
    this.#unlock();
  }

  /** A line that is not whole on disk is taken back, so that the next one begins a line. */
  #append(line: unknown): void {
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
    try {
      for (let at = 0; at < bytes.length;) at += writeSync(this.#log, bytes, at);
      fsyncSync(this.#log);
    } catch (error) {
      ftruncateSync(this.#log, this.#size);
      throw error;
    }
    this.#size += bytes.length;
  }

  /** What a killed process was writing is no whole line: nobody learned of it. */
  #replay(path: string, version: number): void {
    const stored = readFileSync(path);
    this.#size = stored.lastIndexOf("\n") + 1;
    ftruncateSync(this.#log, this.#size);
    const [first, ...lines] = stored.subarray(0, this.#size).toString().split("\n").slice(0, -1);
    if (first === undefined) return this.#append({ tables: version });
    const { tables } = JSON.parse(first) as { readonly tables: number };
    if (tables !== version) throw new Error(`it has tables of version ${tables}, and ${version} is needed`);
    for (const line of lines)
      for (const [sql, ...values] of JSON.parse(line) as Change[]) this.#db.prepare(sql).run(...values);
  }
}

/** Keeps other processes out for as long as this one lives. Returns what lets them in again. */
function lock(path: string): () => void {
  for (;;) {
    try {
      const file = openSync(path, "wx");
      writeSync(file, String(process.pid));
      closeSync(file);
      return () => rmSync(path, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    const pid = Number(readFileSync(path, "utf8"));
    if (lives(pid)) throw new Error(`process ${pid} has it open`);
    rmSync(path, { force: true });
  }
}

function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
