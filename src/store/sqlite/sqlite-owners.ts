import { type FSWatcher, readdirSync, rmSync, statSync, watch } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { DatabaseSync } from "node:sqlite";
import { hostname } from "node:os";
import { HoldfastError } from "../../task/fault.ts";
import { connect, primaryCode, sqliteCode } from "./connect.ts";
import { type Statements, unusable } from "./statements.ts";
import { createFile, createFolder, lockMode } from "./private-files.ts";
import { type HandlerName, hasHandler, type StoreOwner } from "../../task/queue.ts";
import type { TaskRecord } from "../../task/record.ts";
import { handlersIn, handlersText } from "../admin-store.ts";
import { columnsOf, idOf, type Row, textOrStored, toStored } from "../row.ts";
import * as sql from "./sql.ts";
import type { Renewal } from "../store.ts";
import { ChangeLogReader, gap, type LoggedChanges } from "./change-log.ts";
import { pausedTools } from "../admin-reads.ts";
import { adminStatements } from "./admin-sql.ts";

// A lock is an open transaction on an empty SQLite database. SQLite's locks work between processes on every platform. The kernel
// releases them when their process ends for any reason; a stopped process keeps its locks.

const ownerId = /^[\w-]{1,64}$/;

/** The folder beside a database in which its owners hold their locks. */
export function ownersFolder(path: string): string {
  return `${path}.owners`;
}

function lockFile(path: string, owner: string): string {
  return join(ownersFolder(path), owner);
}

/** A lock that is held until it is released, or its process ends. */
export interface FileLock {
  /** Has an effect only once. */
  release(): void;
}

/** Locks the file of an owner, so that others can check it; throws `store_unusable`. */
export function lockOwner(path: string, owner: string): FileLock {
  if (!ownerId.test(owner)) {
    throw new HoldfastError(
      "configuration",
      `${JSON.stringify(owner)} is not a valid owner id: use 1 to 64 letters, digits, "_" or "-".`,
    );
  }
  const file = lockFile(path, owner);
  try {
    const mode = lockMode(path, 0o600);
    createFolder(ownersFolder(path), mode);
    if (!createFile(file, mode)) throw new Error("it exists already");
  } catch (error) {
    throw unusable(file, error);
  }
  const lock = tryLock(file);
  if (typeof lock === "string") {
    throw new HoldfastError("store_unusable", `${file} was ${lock} by another program. Try again.`);
  }
  return {
    release: () => {
      lock.release();
      removeLockFile(path, owner);
    },
  };
}

/** Whether an owner holds its lock, so its process lives. Throws `store_unusable` if that is unknown. */
export function isLocked(path: string, owner: string): boolean {
  const lock = ownerId.test(owner) ? tryLock(lockFile(path, owner)) : "removed";
  if (typeof lock === "string") return lock === "locked";
  lock.release();
  return false;
}

/** Does nothing if it is gone. On some platforms it cannot be removed while others check it; it then stays. */
export function removeLockFile(path: string, owner: string): void {
  try {
    rmSync(lockFile(path, owner), { force: true });
  } catch {
    // It is empty, and nobody asks for it any more.
  }
}

/** Whether anyone holds a lock beside a database, even if the database no longer exists. */
export function isAnyLocked(path: string): boolean {
  return lockFiles(path).some((name) => isLocked(path, name));
}

/** Removes files of processes that ended before they became owners, if possible. The caller must keep others from becoming an owner. */
export function removeLockFilesBut(path: string, owners: ReadonlySet<string>): void {
  for (const name of lockFiles(path))
    if (!owners.has(name) && !isLocked(path, name)) removeLockFile(path, name);
}

function lockFiles(path: string): readonly string[] {
  try {
    return readdirSync(ownersFolder(path));
  } catch {
    return [];
  }
}

/**
 * Locks a file without changing it. `removed`: it does not exist; `locked`: another connection has the lock, of this process or another.
 * Any other failure throws `store_unusable`, and says nothing about the lock.
 */
export function tryLock(file: string): FileLock | "locked" | "removed" {
  const url = pathToFileURL(file);
  url.searchParams.set("mode", "rw"); // a missing file is not created
  let db: DatabaseSync;
  try {
    db = connect(url, { timeout: 0 });
  } catch (error) {
    // For example, a process that may open no more files gets the same code.
    if (primaryCode(error) === sqliteCode.cannotOpen && isRemoved(file)) return "removed";
    throw unusable(file, error);
  }
  try {
    db.exec("PRAGMA journal_mode = MEMORY"); // otherwise the first transaction of an empty file creates another file beside it
    db.exec("BEGIN IMMEDIATE");
    return { release: () => (db.isOpen ? db.close() : undefined) };
  } catch (error) {
    db.close();
    if (primaryCode(error) === sqliteCode.busy) return "locked";
    throw unusable(file, error);
  }
}

function isRemoved(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) === undefined;
  } catch (error) {
    throw unusable(file, error);
  }
}

/** A process that has, or had, the database open. */
export interface KnownOwner extends StoreOwner {
  readonly pid: number;
  readonly host: string;
  /** ISO 8601. */
  readonly since: string;
  /** True once its tasks went to others. It is still known only because some of them were unreadable. */
  readonly retired: boolean;
  /** By when it is to have ended what it works on (epoch ms); null: it takes new work. */
  readonly drainUntil: number | null;
}

const at = columnsOf(["id", "pid", "host", "since", "handlers", "retired", "drainUntil"]);

/** The owners in the database. Only their locks show whether they live. */
export class SqliteOwners {
  readonly #sql: Statements;

  constructor(statements: Statements) {
    this.#sql = statements;
  }

  all(): readonly KnownOwner[] {
    return this.#sql.all(sql.selectOwners).map(ownerOf);
  }

  /** The ids of owners whose tasks did not go to others. */
  ids(): ReadonlySet<string> {
    return new Set(this.#sql.all(sql.selectOwnerIds).map(idOf));
  }

  /** Whether an owner may take tasks queued for another owner, or for any (null). Another owner keeps them while it has the handler. */
  mayTake(own: string): (owner: string | null, handler: HandlerName) => boolean {
    let known: readonly KnownOwner[] | undefined;
    const keeps = (owner: string, handler: HandlerName): boolean => {
      known ??= this.all().filter(({ retired }) => !retired);
      return known.some(({ id, handlers }) => id === owner && hasHandler(handlers, handler));
    };
    return (owner, handler) => owner === null || owner === own || !keeps(owner, handler);
  }

  serve(task: Pick<TaskRecord, "method" | "tool">): boolean {
    return this.all().some(({ handlers, retired }) => !retired && hasHandler(handlers, task));
  }
}

/** The writes of the table. */
export class OwnerWrites {
  readonly #sql: Statements;

  constructor(statements: Statements) {
    this.#sql = statements;
  }

  add({ id, handlers }: StoreOwner): void {
    this.#sql.run(sql.insertOwner, id, process.pid, toStored(hostname()), handlersText(handlers));
  }

  setHandlers(id: string, handlers: readonly HandlerName[]): void {
    this.#sql.run(sql.updateHandlers, handlersText(handlers), id);
  }

  drain(id: string, until: number | null): void {
    this.#sql.run(sql.drainOwner, until, toStored(id));
  }

  /** With `forgetAt`, the time now, the owner is deleted unless it has running tasks left. */
  retire(id: string, forgetAt: number | null): void {
    this.#sql.run(sql.deleteMessagesOfOwner, id);
    this.#sql.run(sql.retireOwner, id);
    if (forgetAt !== null) this.#sql.run(sql.deleteOwner, id, forgetAt);
    this.#sql.run(sql.deleteChangesForNobody);
  }
}

/** For messages to people. */
export function describeOwners(owners: readonly Pick<KnownOwner, "pid" | "host" | "since">[]): string {
  return owners.map(({ pid, host, since }) => `process ${pid} on ${host} since ${since}`).join(", ");
}

/** Also for a damaged row: one unreadable owner must not stop the others. */
function ownerOf(row: Row): KnownOwner {
  return {
    id: idOf(row),
    pid: Number(row[at.pid.place]),
    host: textOrStored(row, at.host),
    since: textOrStored(row, at.since),
    handlers: handlersIn(textOrStored(row, at.handlers)),
    retired: Number(row[at.retired.place]) !== 0,
    drainUntil: row[at.drainUntil.place] === null ? null : Number(row[at.drainUntil.place]),
  };
}

/** How often the changes of others are read, while there are others. */
const pollMs = 25;

/** Polling ends after this many polls without other owners: an owner is in the database a little later than its lock. */
const lonelyPolls = 80;

/** What an owner learns at a renewal about the others, and from operators. */
export function othersIn(
  statements: Statements,
  own: string,
  lives: (owner: string) => boolean,
): Omit<Renewal, "held"> {
  const all = new SqliteOwners(statements).all();
  const others = all.filter(({ id }) => id !== own);
  const drainUntil = all.find(({ id }) => id === own)?.drainUntil ?? null;
  const gone = others.filter(({ id }) => !lives(id)).map(({ id }) => id);
  const paused = statements.read(pausedTools(adminStatements)).map(({ tool }) => tool);
  return {
    ...(paused.length > 0 && { paused }),
    ...(drainUntil !== null && { drainUntil }),
    gone,
    others: others.length - gone.length,
  };
}

/**
 * What one owner learns about the others: who they are, and what they change. While alone, it reads nothing unless asked; a change of the
 * folder of locks shows that another process has come.
 */
export class OtherOwners {
  readonly #path: string;
  readonly #own: string;
  readonly #owners: SqliteOwners;
  readonly #statements: Statements;
  readonly #log: ChangeLogReader;
  readonly #publish: (changes: LoggedChanges) => void;
  readonly #watcher: FSWatcher | undefined;
  #known: ReadonlySet<string>;
  /** False for an owner that a full disk has kept out of the table so far. */
  #joined: boolean;
  #timer: NodeJS.Timeout | undefined;
  #alone = 0;

  constructor(path: string, own: string, statements: Statements, publish: (changes: LoggedChanges) => void) {
    this.#path = path;
    this.#own = own;
    this.#owners = new SqliteOwners(statements);
    this.#statements = statements;
    this.#log = new ChangeLogReader(statements, own);
    this.#publish = publish;
    this.#known = this.#owners.ids();
    this.#joined = this.#known.has(own);
    this.#watcher = this.#watch();
    if (this.#known.size > 1) this.#startPolling();
  }

  renew(): Renewal {
    this.#look();
    return {
      held: this.#known.has(this.#own) || !this.#joined,
      ...othersIn(this.#statements, this.#own, (id) => isLocked(this.#path, id)),
    };
  }

  living(): readonly KnownOwner[] {
    // This owner lives. It must not check its own lock, which it would lose.
    const known = this.#owners.all().filter(({ retired }) => !retired);
    return known.filter(({ id }) => id === this.#own || isLocked(this.#path, id));
  }

  close(): void {
    this.#watcher?.close();
    clearInterval(this.#timer);
  }

  /** Only a hint, which renewals do not need: not every file system provides it. */
  #watch(): FSWatcher | undefined {
    try {
      const watcher = watch(ownersFolder(this.#path), { persistent: false }, () => this.#startPolling());
      watcher.on("error", () => watcher.close());
      return watcher;
    } catch {
      return undefined;
    }
  }

  #startPolling(): void {
    this.#alone = 0;
    this.#timer ??= setInterval(() => this.#poll(), pollMs).unref();
  }

  #poll(): void {
    try {
      this.#look();
      if (this.#known.size > 1) this.#alone = 0;
      else if (++this.#alone > lonelyPolls) this.#stopPolling();
      this.#publish(this.#log.read());
    } catch {
      // The next poll reads a file that cannot be read now; any other use reports the error.
    }
  }

  #stopPolling(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** A new owner may have written before it was known, and tasks queued for an ended one may now be claimable. */
  #look(): void {
    const before = this.#known;
    this.#known = this.#owners.ids();
    this.#joined ||= this.#known.has(this.#own);
    if (this.#known.size > 1) this.#startPolling();
    if (!isSame(before, this.#known)) this.#publish(gap);
  }
}

function isSame(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && [...a].every((id) => b.has(id));
}
