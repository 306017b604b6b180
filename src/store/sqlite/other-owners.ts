import { watch, type FSWatcher } from "node:fs";
import type { Renewal } from "../store.ts";
import { ChangeLogReader, gap, type LoggedChanges } from "./change-log.ts";
import { isLocked, ownersFolder } from "./owner-lock.ts";
import { SqliteAdmin } from "./sqlite-admin.ts";
import { SqliteOwners, type KnownOwner } from "./sqlite-owners.ts";
import type { Statements } from "./statements.ts";

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
  const paused = new SqliteAdmin(statements).paused().map(({ tool }) => tool);
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
