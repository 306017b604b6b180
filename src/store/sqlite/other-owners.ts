import { watch, type FSWatcher } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import type { Renewal } from "../store.ts";
import { ChangeLogReader, gap, type LoggedChanges } from "./change-log.ts";
import { isLocked, ownersFolder } from "./owner-lock.ts";
import { SqliteAdmin } from "./sqlite-admin.ts";
import { SqliteOwners } from "./sqlite-owners.ts";

/** How often the changes of others are read, while there are others. */
const pollMs = 25;

/** How many polls find nobody before they end: an owner comes into the database a little later than its lock. */
const lonelyPolls = 80;

/**
 * What one owner learns of the others: who they are, and what they change. Alone it reads nothing unless it is asked, and a
 * change of the folder of locks says that somebody has come.
 */
export class OtherOwners {
  readonly #path: string;
  readonly #own: string;
  readonly #owners: SqliteOwners;
  readonly #admin: SqliteAdmin;
  readonly #log: ChangeLogReader;
  readonly #publish: (changes: LoggedChanges) => void;
  readonly #watcher: FSWatcher | undefined;
  #known: ReadonlySet<string>;
  #timer: NodeJS.Timeout | undefined;
  #alone = 0;

  constructor(path: string, own: string, db: DatabaseSync, publish: (changes: LoggedChanges) => void) {
    this.#path = path;
    this.#own = own;
    this.#owners = new SqliteOwners(db);
    this.#admin = new SqliteAdmin(db);
    this.#log = new ChangeLogReader(db, own);
    this.#publish = publish;
    this.#known = this.#owners.ids();
    this.#watcher = this.#watch();
    if (this.#known.size > 1) this.#startPolling();
  }

  renew(): Renewal {
    this.#look();
    const all = this.#owners.all().filter(({ id }) => id !== this.#own);
    const gone = all.filter(({ id }) => !isLocked(this.#path, id));
    const paused = this.#admin.paused().map(({ tool }) => tool);
    return {
      ...(paused.length > 0 && { paused }),
      held: this.#known.has(this.#own),
      gone: gone.map(({ id }) => id),
      others: all.length - gone.length,
    };
  }

  /** The owners that live. */
  living(): readonly string[] {
    // Who asks lives, and must not look at its own lock, which it would lose.
    return [...this.#owners.ids()].filter((id) => id === this.#own || isLocked(this.#path, id));
  }

  close(): void {
    this.#watcher?.close();
    clearInterval(this.#timer);
  }

  /** Only a hint, which a renewal does without: not every file system gives one. */
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
      // A file that cannot be read now is read at the next poll, and whoever needs it meanwhile says so.
    }
  }

  #stopPolling(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Who comes may have written before this was known, and what one that ends was to run may be claimed. */
  #look(): void {
    const before = this.#known;
    this.#known = this.#owners.ids();
    if (this.#known.size > 1) this.#startPolling();
    if (!isSame(before, this.#known)) this.#publish(gap);
  }
}

function isSame(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && [...a].every((id) => b.has(id));
}
