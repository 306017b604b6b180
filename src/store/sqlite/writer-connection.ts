import { statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import type { CommandResult, TaskCommand } from "../../task/command.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { HandlerName, StoreOwner } from "../../task/queue.ts";
import { type FaultCode, HoldfastError } from "../../task/fault.ts";
import type { LimitAnswer, LimitCall } from "../limits.ts";
import type { MessageCommand, MessageResult, SessionCommand, SessionResult } from "../session-store.ts";
import type { Sealing } from "../cipher.ts";
import type { TaskChange } from "../store.ts";
import { connect, primaryCode, sqliteCode } from "./connect.ts";
import { turnMs, unusable } from "./statements.ts";
import { assertComplete, assertMigrated, assertOurs, migrate, migrations, number } from "./schema.ts";

interface Done {
  readonly ok: true;
}

/** What is written beside the commands of tasks, and what it resolves with. */
export interface OtherWrites {
  sessions: { readonly write: { readonly command: SessionCommand }; readonly result: SessionResult };
  messages: { readonly write: { readonly command: MessageCommand }; readonly result: MessageResult };
  limits: { readonly write: { readonly call: LimitCall }; readonly result: LimitAnswer };
  /** Replaces the owner's handlers. */
  handlers: { readonly write: { readonly handlers: readonly HandlerName[] }; readonly result: Done };
  /** The owner's report of a minute. */
  report: {
    readonly write: { readonly minute: number; readonly body: string; readonly oldest: number };
    readonly result: Done;
  };
  /** Deletes pieces of tasks that have been deleted; resolves with how many. */
  left_pieces: {
    readonly write: { readonly ids: readonly string[] };
    readonly result: Done & { readonly count: number };
  };
  /** Leaves a mark in the file of the database. */
  mark_file: { readonly write: { readonly mark: string }; readonly result: Done };
}

export type OtherWrite<K extends keyof OtherWrites> = { readonly type: K } & OtherWrites[K]["write"];

export type WriterCommand = TaskCommand | { [K in keyof OtherWrites]: OtherWrite<K> }[keyof OtherWrites];

export type WriterResult = CommandResult | OtherWrites[keyof OtherWrites]["result"];

/** What the main thread sends to the writer's thread. It sends a group only after the answer to the one before. */
export type WriterRequest =
  | { readonly type: "group"; readonly commands: readonly WriterCommand[] }
  /** Encrypts from now on. It has no answer. */
  | { readonly type: "encrypt"; readonly sealing: Sealing }
  | { readonly type: "stop" };

/** The answer to one command of a committed group; with `problem` it changed nothing. */
export type CommandAnswer =
  { readonly result: WriterResult } | { readonly problem: string; readonly code: FaultCode };

/** An answer as it is sent to the other thread: of a task that was sent before, only what has changed. */
export type SentAnswer =
  | CommandAnswer
  | { readonly result: object; readonly task: TaskRecord }
  | { readonly result: object; readonly taskId: string; readonly changed: Partial<TaskRecord> };

export type WriterAnswer<Answer = SentAnswer> =
  | { readonly type: "ready" }
  | { readonly type: "unusable"; readonly code: FaultCode; readonly message: string }
  /** Committed to disk; one answer per command, in order. */
  | {
      readonly type: "committed";
      readonly answers: readonly Answer[];
      readonly changes: readonly TaskChange[];
    }
  /** Nothing of the group was written. */
  | { readonly type: "failed"; readonly problem: string; readonly code: FaultCode };

/**
 * The most bytes of the write-ahead log kept on disk after its copy into the database. It is copied at half of that, so that a usual load
 * never truncates the file and lets it grow again.
 */
const logLimitBytes = 8 * 1024 * 1024;

/** How a write connection is opened. */
export interface DatabaseOptions {
  /** The real path. */
  readonly path: string;
  readonly busyTimeoutMs: number;
  readonly maxBytes: number | null;
  /** Whether to upgrade an empty or older database instead of refusing it. */
  readonly migrate: boolean;
}

/** What the writer needs to know about its database; plain data, since it is sent to another thread. */
export interface WriterOptions extends DatabaseOptions {
  readonly owner: StoreOwner;
}

/**
 * Throws `store_unusable` if the file is not ours, or has an older schema and must not be migrated, without leaving a trace in it or beside
 * it. `openWriterConnection` finds what only a write connection can (after a crash that left work to roll back).
 */
export function refuseForeignFile(path: string, migrates: boolean, known = migrations): void {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return;
  let db: DatabaseSync | undefined;
  try {
    db = connect(path, { readOnly: true });
    assertUsable(db, path, migrates, known);
  } catch (error) {
    const code = primaryCode(error);
    if (code !== sqliteCode.busy && code !== sqliteCode.readonly) throw unusable(path, error);
  } finally {
    db?.close();
  }
}

/**
 * Opens the write connection, with durable settings and an upgraded schema, for transactions that `beginWrite` begins; throws
 * `store_unusable`.
 */
export function openWriterConnection({
  path,
  busyTimeoutMs,
  maxBytes,
  migrate: migrates,
}: DatabaseOptions): DatabaseSync {
  let db: DatabaseSync | undefined;
  try {
    db = connect(path, { timeout: busyTimeoutMs });
    assertUsable(db, path, migrates);
    useWriteAheadLog(db, path);
    // An acknowledged write survives a power loss; on macOS only `fullfsync` reaches the disk itself.
    db.exec("PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON");
    db.exec(`PRAGMA journal_size_limit = ${logLimitBytes}`);
    // The tables must fit, but a database that is full may be upgraded.
    if (number(db, "PRAGMA user_version") === 0) limitSize(db, maxBytes);
    migrate(db);
    assertComplete(db, path);
    limitSize(db, maxBytes);
    db.exec(`PRAGMA busy_timeout = ${turnMs}`);
    return db;
  } catch (error) {
    db?.close();
    throw unusable(path, error);
  }
}

/** What the database may grow to from now on (bytes); null: to any size. One that is larger only grows no more. */
export function limitSize(db: DatabaseSync, maxBytes: number | null): void {
  const pages =
    maxBytes === null ? mostPages : Math.max(1, Math.floor(maxBytes / number(db, "PRAGMA page_size")));
  db.exec(`PRAGMA max_page_count = ${pages}`);
}

/** Fails as a write does for which there is no room, if the database may not grow by so many pages. */
export function assertFreePages(db: DatabaseSync, least: number): void {
  const more = number(db, "PRAGMA max_page_count") - number(db, "PRAGMA page_count");
  if (more + number(db, "PRAGMA freelist_count") >= least) return;
  throw Object.assign(new Error("database or disk is full"), { errcode: sqliteCode.full });
}

/** The most that SQLite allows. */
const mostPages = 0xff_ff_ff_fe;

function assertUsable(db: DatabaseSync, path: string, migrates: boolean, known = migrations): void {
  if (migrates) assertOurs(db, path, known);
  else assertMigrated(db, path, known);
}

/**
 * Truncates the write-ahead log if it has grown beyond its limit: because of a large transaction, or another program's read that prevented
 * copying it. Waits for nobody; the next commit tries again.
 */
export function shrinkLog(db: DatabaseSync, path: string): void {
  const { size = 0 } = statSync(`${path}-wal`, { throwIfNoEntry: false }) ?? {};
  if (size <= logLimitBytes) return;
  db.exec("PRAGMA busy_timeout = 0");
  db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  db.exec(`PRAGMA busy_timeout = ${turnMs}`);
}

function useWriteAheadLog(db: DatabaseSync, path: string): void {
  const [mode] = Object.values(db.prepare("PRAGMA journal_mode = WAL").get() ?? {});
  if (mode === "wal") return;
  throw new HoldfastError(
    "store_unusable",
    `${path} cannot be used: its file system does not support the shared memory that SQLite's write-ahead log needs. Use a local disk.`,
  );
}
