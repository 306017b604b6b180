import { extname, resolve } from "node:path";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { isJsonObject } from "../../generation/message.ts";
import type * as privateFiles from "./private-files.ts";
import type { InputResult } from "../question/ask-user.ts";
import type { TaskReference } from "../task/remote-task.ts";
import {
  type CallName,
  decodeCall,
  decodeEntry,
  decodeSession,
  encodeEntry,
  type HandleStore,
  keepAfterExpiryMs,
  type ResumableSession,
  type StoredCall,
  type StoredCalls,
} from "./handle-store.ts";

/** How many expired calls go with one new call. */
const mostExpired = 100;

const schema = `
  PRAGMA journal_mode = TRUNCATE;
  CREATE TABLE IF NOT EXISTS calls (
    server TEXT, key TEXT, task TEXT, session TEXT, started_at REAL NOT NULL, expires_at REAL, value TEXT NOT NULL,
    PRIMARY KEY (server, key)) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS calls_task ON calls (server, task) WHERE task IS NOT NULL;
  CREATE INDEX IF NOT EXISTS calls_session ON calls (session) WHERE session IS NOT NULL;
  CREATE INDEX IF NOT EXISTS calls_expiry ON calls (expires_at) WHERE expires_at IS NOT NULL;
  CREATE TABLE IF NOT EXISTS answers (
    server TEXT, task TEXT, question TEXT, value TEXT NOT NULL, PRIMARY KEY (server, task, question)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS sessions (server TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
`;

const putCall = `INSERT INTO calls (server, key, task, session, started_at, expires_at, value) VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET task = excluded.task, session = excluded.session, started_at = excluded.started_at,
    expires_at = excluded.expires_at, value = excluded.value`;

/**
 * A handle store in one SQLite file, readable only by its owner. It is made at the first write, with its folder. Any number of processes on one machine
 * may use it at the same time. A call whose task expired a day ago is removed. A file that is no database is put aside at the next write, with `.damaged`
 * after its name. A path whose last part has no extension is a folder, in which the file is `handles.db`.
 *
 * ```ts
 * const client = await connect(url, { handles: fileHandles("handles.db") });
 * ```
 */
export function fileHandles(file: string): HandleStore {
  return new FileHandles(resolve(file, extname(file) === "" ? "handles.db" : ""));
}

/** A connection with the statements that it has prepared. */
class Rows {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  prepare(sql: string): StatementSync {
    const statement = this.#statements.get(sql) ?? this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  exec(sql: string): void {
    this.#database.exec(sql);
  }

  close(): void {
    this.#statements.clear();
    this.#database.close();
  }
}

/** What one caller wants of the database. */
interface Job {
  readonly writes: boolean;
  /** Without a database there is nothing to read. */
  readonly run: (database: Rows | undefined) => void;
  readonly settle: (error?: Error) => void;
}

/**
 * Everything that is asked for in one turn is one transaction. Names are stored as JSON, so that ids of servers may have any characters.
 */
class FileHandles implements HandleStore {
  readonly #file: string;
  #jobs: Job[] = [];
  #open: { readonly database: Rows; readonly writes: boolean; readonly inode: bigint } | undefined;

  constructor(file: string) {
    this.#file = file;
  }

  async keep(call: StoredCall): Promise<boolean> {
    const [server, key] = nameOf(call);
    encodeEntry(call); // throws for what is no JSON, without the calls of others
    return this.#write((database) => {
      if (call.taskId === null) removeExpired(database, call.startedAt - keepAfterExpiryMs);
      const row = database.prepare("SELECT value FROM calls WHERE server = ? AND key = ?").get(server, key);
      const known = row && decoded(row["value"], decodeCall);
      const { startedAt, taskId } = known === undefined || known instanceof Error ? call : known;
      const kept = { ...call, startedAt, taskId: call.taskId ?? taskId };
      const task = kept.taskId === null ? null : JSON.stringify(kept.taskId);
      const text = encodeEntry(kept);
      database
        .prepare(putCall)
        .run(server, key, task, sessionOf(kept), startedAt, kept.expiresAt ?? null, text);
      return known === undefined || taskId !== null;
    });
  }

  async drop(call: CallName): Promise<void> {
    await this.#write((database) =>
      database
        .prepare("DELETE FROM calls WHERE server = ? AND key = ? AND task IS NULL")
        .run(...nameOf(call)),
    );
  }

  async dropTask(task: TaskReference): Promise<void> {
    await this.#write((database) => removeTask(database, ...taskNameOf(task)));
  }

  async list(): Promise<StoredCalls> {
    const calls: StoredCall[] = [];
    const damaged: StoredCalls["damaged"][number][] = [];
    try {
      const rows = await this.#read(
        (database) => database.prepare("SELECT server, key, value FROM calls ORDER BY started_at").all(),
        [],
      );
      for (const { server, key, value } of rows) {
        const call = decoded(value, decodeCall);
        if (call instanceof Error)
          damaged.push({
            name: `the call ${String(key)} of ${String(server)} in ${this.#file}`,
            error: call,
          });
        else calls.push(call);
      }
    } catch (error) {
      if (!(error instanceof DamagedFile)) throw error;
      damaged.push({ name: this.#file, error });
    }
    return { calls, damaged };
  }

  async find(task: TaskReference): Promise<StoredCall | undefined> {
    const sql = "SELECT value FROM calls WHERE server = ? AND task = ?";
    return this.#readOne(sql, taskNameOf(task), decodeCall);
  }

  async usesSession(session: ResumableSession): Promise<boolean> {
    const { server, origin, id } = session;
    const name = JSON.stringify([server, origin, id]);
    return this.#read(
      (database) => database.prepare("SELECT 1 FROM calls WHERE session = ? LIMIT 1").get(name) !== undefined,
      false,
    );
  }

  async keepSession(session: ResumableSession): Promise<void> {
    const values = [serverOf(session), encodeEntry(session)];
    await this.#write((database) =>
      database.prepare("INSERT OR REPLACE INTO sessions (server, value) VALUES (?, ?)").run(...values),
    );
  }

  async findSession(server: string, generation: string): Promise<ResumableSession | undefined> {
    const found = await this.#read((database) => sessionIn(database, { server, generation }), undefined);
    // A session that cannot be read counts as missing.
    return found instanceof Error ? undefined : found;
  }

  async dropSession(session: ResumableSession): Promise<boolean> {
    return this.#write((database) => {
      const found = sessionIn(database, session);
      if (found === undefined || found instanceof Error || found.id !== session.id) return false;
      database.prepare("DELETE FROM sessions WHERE server = ?").run(serverOf(session));
      return true;
    });
  }

  async keepAnswer(task: TaskReference, question: string, answer: InputResult): Promise<void> {
    const values = [...taskNameOf(task), JSON.stringify(question), encodeEntry({ question, answer })];
    const sql = "INSERT OR REPLACE INTO answers (server, task, question, value) VALUES (?, ?, ?, ?)";
    await this.#write((database) => database.prepare(sql).run(...values));
  }

  async answer(task: TaskReference, question: string): Promise<InputResult | undefined> {
    const sql = "SELECT value FROM answers WHERE server = ? AND task = ? AND question = ?";
    return this.#readOne(sql, [...taskNameOf(task), JSON.stringify(question)], decodeAnswer);
  }

  async #readOne<T>(
    sql: string,
    names: readonly string[],
    decode: (text: string) => T,
  ): Promise<T | undefined> {
    const row = await this.#read((database) => database.prepare(sql).get(...names), undefined);
    const found = row && decoded(row["value"], decode);
    if (!(found instanceof Error)) return found;
    throw new Error(`An entry of ${this.#file} cannot be read`, { cause: found });
  }

  async #write<T>(work: (database: Rows) => T): Promise<T> {
    return this.#ask(true, (database) => work(database as Rows));
  }

  async #read<T>(work: (database: Rows) => T, nothing: T): Promise<T> {
    return this.#ask(false, (database) => (database === undefined ? nothing : work(database)));
  }

  async #ask<T>(writes: boolean, work: (database: Rows | undefined) => T): Promise<T> {
    const { promise, resolve: done, reject } = Promise.withResolvers<T>();
    let value: T;
    const job: Job = {
      writes,
      run: (database) => (value = work(database)),
      settle: (error) => (error === undefined ? done(value) : reject(error)),
    };
    if (this.#jobs.push(job) === 1) void this.#runNext();
    return promise;
  }

  async #runNext(): Promise<void> {
    // Loaded on demand: most clients store nothing.
    const files = await import("./private-files.ts");
    await setImmediate();
    const jobs = this.#jobs;
    this.#jobs = [];
    const writes = jobs.some((job) => job.writes);
    const run = (mayWrite: boolean): void => this.#transaction(jobs, this.#opened(mayWrite, files), writes);
    try {
      const inode = files.inodeOf(this.#file);
      try {
        run(writes);
      } catch (error) {
        this.#open?.database.close();
        this.#open = undefined;
        if (files.isDamage(error)) {
          if (!writes) throw new DamagedFile(`${this.#file} is damaged`, { cause: error });
          files.putAside(this.#file, inode);
        } else if (writes || !files.isUnfinished(error)) throw error;
        run(true);
      }
      for (const { settle } of jobs) settle();
    } catch (cause) {
      const error = named(cause, `${this.#file} cannot be ${writes ? "written" : "read"}`);
      for (const { settle } of jobs) settle(error);
    }
  }

  #transaction(jobs: readonly Job[], database: Rows | undefined, writes: boolean): void {
    if (writes) database?.exec("BEGIN IMMEDIATE");
    for (const { run } of jobs) run(database);
    if (writes) database?.exec("COMMIT");
  }

  /** The database; undefined where nothing was ever written. */
  #opened(writes: boolean, { inodeOf, openPrivate }: typeof privateFiles): Rows | undefined {
    const known = this.#open;
    // Somebody may have taken the file away.
    if (known !== undefined && known.inode === inodeOf(this.#file) && (known.writes || !writes))
      return known.database;
    known?.database.close();
    this.#open = undefined;
    if (!writes && inodeOf(this.#file) === undefined) return undefined;
    const database = new Rows(openPrivate(this.#file, writes));
    try {
      if (writes) database.exec(schema);
      else if (database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'sessions'").get() === undefined) {
        database.close();
        return undefined;
      }
    } catch (error) {
      database.close();
      throw error;
    }
    this.#open = { database, writes, inode: inodeOf(this.#file) ?? 0n };
    return database;
  }
}

/** Errors of the file system name the file themselves. */
function named(cause: unknown, what: string): Error {
  if (cause instanceof DamagedFile || (cause instanceof Error && "syscall" in cause)) return cause;
  return new Error(`${what}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
}

/** The whole file cannot be read. */
class DamagedFile extends Error {}

function removeExpired(database: Rows, before: number): void {
  const sql = "SELECT server, task FROM calls WHERE expires_at < ? AND task IS NOT NULL LIMIT ?";
  for (const { server, task } of database.prepare(sql).all(before, mostExpired))
    removeTask(database, String(server), String(task));
}

function removeTask(database: Rows, server: string, task: string): void {
  for (const table of ["calls", "answers"])
    database.prepare(`DELETE FROM ${table} WHERE server = ? AND task = ?`).run(server, task);
}

function sessionIn(
  database: Rows,
  name: Pick<CallName, "server" | "generation">,
): ResumableSession | Error | undefined {
  const row = database.prepare("SELECT value FROM sessions WHERE server = ?").get(serverOf(name));
  return row && decoded(row["value"], decodeSession);
}

function serverOf({ server, generation }: Pick<CallName, "server" | "generation">): string {
  return JSON.stringify([server, generation]);
}

function nameOf(call: CallName): [string, string] {
  return [serverOf(call), JSON.stringify(call.key)];
}

function taskNameOf(task: TaskReference): [string, string] {
  return [serverOf(task), JSON.stringify(task.taskId)];
}

/** The session that its task was made in. */
function sessionOf({ server, taskId, sessionOrigin, sessionId }: StoredCall): string | null {
  if (taskId === null || sessionId === undefined) return null;
  return JSON.stringify([server, sessionOrigin, sessionId]);
}

function decoded<T>(text: unknown, decode: (text: string) => T): T | Error {
  try {
    return decode(String(text));
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function decodeAnswer(text: string): InputResult {
  const { answer } = decodeEntry(text);
  if (!isJsonObject(answer)) throw new TypeError("It is not a stored answer");
  return answer as InputResult;
}
