import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import { connect } from "../../store/sqlite/connect.ts";

/** What a record is about. */
type Kind = "numbers" | "seen" | "server" | "session" | "trusted";

/** How long a command waits for others that write. */
const busyMs = 10_000;

/**
 * What commands know besides their calls: one SQLite file, which only this user can read. A record is JSON under a key. Invariants: a record
 * that cannot be read is missing, and so is every record of a file that cannot be read, until one is written: such a file is put aside then.
 * The file is open only while it is used, so that any number of commands can share it.
 */
export class Records {
  readonly file: string;

  constructor(file: string) {
    this.file = file;
  }

  /** The record, if there is one that can be read. */
  get(kind: Kind, key: string): JsonObject | undefined {
    return this.#read("SELECT value FROM records WHERE kind = ? AND key = ?", kind, key)[0];
  }

  all(kind: Kind): readonly JsonObject[] {
    return this.#read("SELECT value FROM records WHERE kind = ? ORDER BY key", kind);
  }

  /** Throws if the file cannot be written. */
  set(kind: Kind, key: string, value: object): void {
    const text = JSON.stringify(value);
    const sql =
      "INSERT INTO records (kind, key, value) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value";
    const write = (): void => this.#write((database) => void database.prepare(sql).run(kind, key, text));
    try {
      write();
    } catch (error) {
      if (!isDamage(error)) throw error;
      renameSync(this.file, `${this.file}.damaged`);
      write();
    }
  }

  /** Removes the records with these keys. Throws if the file cannot be written. */
  remove(kind: Kind, ...keys: readonly string[]): void {
    if (keys.length === 0) return;
    this.#write((database) => {
      const remove = database.prepare("DELETE FROM records WHERE kind = ? AND key = ?");
      for (const key of keys) remove.run(kind, key);
    });
  }

  #read(sql: string, ...values: readonly string[]): readonly JsonObject[] {
    try {
      using database = open(this.file, true);
      const rows = database.prepare(sql).all(...values);
      return rows.map(({ value }) => parsed(value)).filter((value) => value !== undefined);
    } catch {
      return []; // there is none yet, or it cannot be read
    }
  }

  #write(change: (database: DatabaseSync) => void): void {
    mkdirSync(dirname(this.file), { recursive: true, mode: 0o700 });
    writeFileSync(this.file, "", { flag: "a", mode: 0o600 });
    using database = open(this.file, false);
    database.exec(
      "CREATE TABLE IF NOT EXISTS records (kind TEXT, key TEXT, value TEXT NOT NULL, PRIMARY KEY (kind, key)) WITHOUT ROWID",
    );
    change(database);
  }
}

function open(file: string, readOnly: boolean): DatabaseSync & Disposable {
  const database = connect(file, { readOnly, timeout: busyMs });
  return Object.assign(database, { [Symbol.dispose]: () => database.close() });
}

function parsed(text: unknown): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(String(text));
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** SQLITE_CORRUPT, or SQLITE_NOTADB. */
function isDamage(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && [11, 26].includes(Number(error.errcode) & 0xff);
}
