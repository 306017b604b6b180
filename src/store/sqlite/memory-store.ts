import { EventEmitter } from "node:events";
import { setImmediate } from "node:timers";
import type { DatabaseSync } from "node:sqlite";
import { assertNodeVersion } from "../../task/package.ts";
import type { HandlerName, StoreOwner } from "../../task/queue.ts";
import { isLost, StoreLost } from "../lost-store.ts";
import type { TaskStore } from "../store.ts";
import { gap, type LoggedChanges } from "./change-log.ts";
import { codecOf } from "../cipher.ts";
import { connect } from "./connect.ts";
import { type Connection, Statements } from "./statements.ts";
import { GroupWriter, newsOf } from "./group-writer.ts";
import { KnownRecords } from "./known-records.ts";
import { migrate } from "./schema.ts";
import { othersIn, OwnerWrites, SqliteOwners } from "./sqlite-owners.ts";
import { messageOf } from "./sqlite-error.ts";
import { SqliteReader } from "./sqlite-reader.ts";
import { StoreOnSqlite, type OpenDatabase, type Publisher } from "./store-on-sqlite.ts";
import { Writer } from "./writer.ts";
import type { CommandAnswer, WriterAnswer, WriterCommand, WriterRequest } from "./writer-connection.ts";

/** In messages. */
const place = "The memory store";

/** The most commands in a group: other code waits while they are applied. */
const maxGroup = 16;

/**
 * How many commands may be applied in one turn of the event loop: some ten milliseconds. A number and not a time, so that a test takes the same
 * course on a slow machine.
 */
const mostInTurn = 64;

/** So many characters of a command cost as much as another one: files come in pieces of a quarter of a megabyte. */
const charactersPerCommand = 32_768;

/**
 * A database that several memory stores of a process share. Each store is an owner, like a process that opens a file. For tests with
 * several owners.
 */
export function memoryDatabase(): MemoryDatabase {
  return new MemoryDatabase();
}

/**
 * A store that keeps nothing after its process ends: for tests, and for tools whose tasks may be lost. Stores of one `database` share their
 * tasks. Throws `node_too_old` if this Node has no SQLite.
 */
export function memoryStore(database?: MemoryDatabase): TaskStore {
  assertNodeVersion(process.versions.node);
  if (database !== undefined) return database.store();
  const own = memoryDatabase();
  return own.store(() => own.close());
}

interface Opened {
  readonly statements: Statements;
  readonly records: KnownRecords;
  readonly reader: SqliteReader;
}

/** A SQLite database in memory, which is used by this thread only. Its owners tell each other of their commits. */
export class MemoryDatabase {
  readonly #living = new Map<string, Publisher>();
  #made: Opened | undefined;

  /** @internal Reads what is committed. */
  get reader(): SqliteReader {
    return this.#opened.reader;
  }

  /** @internal The owners whose stores are open. */
  get living(): readonly string[] {
    return [...this.#living.keys()];
  }

  /** @internal Whether an owner has a handler for the task. */
  hasHandler(task: HandlerName): boolean {
    return new SqliteOwners(this.#opened.statements).serve(task);
  }

  /** @internal */
  store(onClose = (): void => undefined): TaskStore {
    return new StoreOnSqlite(place, (owner, publisher) => this.#open(owner, publisher, onClose));
  }

  /** Treats an owner as dead, as if its process had ended without closing the store. */
  kill(owner: string): void {
    this.#living.delete(owner);
    this.#tellOthers(owner, gap);
  }

  /** @internal */
  close(): void {
    this.#made?.statements.db.close();
  }

  /** Opened late: a store may be made and never used. */
  get #opened(): Opened {
    if (this.#made !== undefined) return this.#made;
    const statements = new Statements(openInMemory());
    this.#made = { statements, records: new KnownRecords(statements), reader: new SqliteReader(statements) };
    return this.#made;
  }

  async #open(owner: StoreOwner, publisher: Publisher, onClose: () => void): Promise<OpenDatabase> {
    const { id } = owner;
    const { records, ...all } = this.#opened;
    const lives = (other: string): boolean => this.#living.has(other);
    this.#living.set(id, publisher);
    const opened = await openHere({
      place,
      owner,
      publisher,
      db: all.statements.db,
      shared: all.statements,
      records,
      lives,
      tellOthers: (changes) => this.#tellOthers(id, changes),
    });
    this.#tellOthers(id, gap);
    return {
      ...opened,
      close: async () => {
        await opened.close();
        this.kill(id);
        onClose();
      },
    };
  }

  #tellOthers(by: string, changes: LoggedChanges): void {
    for (const [owner, publisher] of Array.from(this.#living))
      if (owner !== by) publisher.committedByOthers(changes);
  }
}

/** The tables made once, as bytes: to load them takes a quarter of the time. Node 22 can only make them. */
let tables: Uint8Array | undefined;

function openInMemory(): DatabaseSync {
  const db = connect(":memory:", {});
  if (tables !== undefined) db.deserialize(tables);
  else migrate(db);
  if (typeof db.serialize === "function") tables ??= db.serialize();
  return db;
}

/** A connection that this thread uses for an owner. */
export interface HereSetup {
  /** Names the database in messages. */
  readonly place: string;
  readonly owner: StoreOwner;
  readonly publisher: Publisher;
  readonly db: Connection;
  /** Statements of the same connection for other owners. */
  readonly shared?: Statements;
  readonly records?: KnownRecords;
  readonly lives: (owner: string) => boolean;
  readonly tellOthers: (changes: LoggedChanges) => void;
}

/** Makes the owner one of the database. Closing it leaves the connection open. */
export async function openHere(setup: HereSetup): Promise<OpenDatabase> {
  const { owner, publisher, db, shared, lives } = setup;
  const { id } = owner;
  const statements = new Statements(db, shared);
  const reader = new SqliteReader(new Statements(db, shared ?? statements));
  const owners = new SqliteOwners(statements);
  statements.transaction(0, () => new OwnerWrites(statements).add(owner));
  const thread = new ThisThread(
    setup,
    statements,
    new GroupWriter(statements, setup.place, id, lives, undefined, setup.records),
  );
  const writer = await Writer.start(thread, publisher.committed, maxGroup);
  return {
    owner: id,
    reader,
    writer,
    encrypt: (sealing) => {
      reader.encrypt(sealing);
      writer.encrypt(sealing);
    },
    others: {
      renew: () => ({ held: lives(id) && owners.ids().has(id), ...othersIn(statements, id, lives) }),
      living: () => owners.all().filter(({ id: each, retired }) => !retired && lives(each)),
    },
    forget: () => publisher.committedByOthers(gap), // tasks queued for it can be claimed now
    close: () => writer.stop(),
  };
}

/** In commands of the usual size. */
function costOf(command: WriterCommand): number {
  let characters = 0;
  for (const value of Object.values(command)) if (typeof value === "string") characters += value.length;
  return 1 + Math.floor(characters / charactersPerCommand);
}

/** Applies the commands of a writer in this thread. */
class ThisThread extends EventEmitter {
  readonly #setup: HereSetup;
  readonly #statements: Statements;
  readonly #writer: GroupWriter;
  /** Commands applied in this turn of the event loop. */
  #inTurn = 0;

  constructor(setup: HereSetup, statements: Statements, writer: GroupWriter) {
    super();
    this.#setup = setup;
    this.#statements = statements;
    this.#writer = writer;
    queueMicrotask(() => this.emit("message", { type: "ready" }));
  }

  /** As in any other store, later changes to the caller's objects have no effect, and the commit comes after the call, never during it. */
  postMessage(given: WriterRequest): void {
    const request = structuredClone(given);
    if (request.type === "encrypt") {
      this.#statements.codec = codecOf(request.sealing);
      return;
    }
    if (request.type === "stop") {
      queueMicrotask(() => this.emit("exit", 0));
      return;
    }
    const apply = (): void => this.#apply(request);
    if (this.#inTurn < mostInTurn) queueMicrotask(apply);
    else setImmediate(apply);
  }

  ref(): void {
    // This thread keeps itself alive.
  }

  unref(): void {
    // It ends with its process.
  }

  async terminate(): Promise<number> {
    this.emit("exit", 0);
    return 0;
  }

  #apply({ commands }: Extract<WriterRequest, { type: "group" }>): void {
    if (this.#inTurn === 0) setImmediate(() => (this.#inTurn = 0));
    for (const command of commands) this.#inTurn += costOf(command);
    const group = this.#commit(commands);
    this.emit("message", group);
    if (group.type !== "committed") return;
    const concernsAll = commands.some(({ type }) => type === "handlers" || type === "reclaim");
    this.#setup.tellOthers(concernsAll ? gap : { tasks: group.changes, sessions: newsOf(group) });
  }

  #commit(
    commands: readonly WriterCommand[],
  ): Extract<WriterAnswer<CommandAnswer>, { type: "committed" | "failed" }> {
    try {
      const { lives, owner, place: of } = this.#setup;
      if (!lives(owner.id)) throw new StoreLost(of, false);
      return { type: "committed", ...this.#writer.commit(commands) };
    } catch (error) {
      return {
        type: "failed",
        problem: messageOf(error),
        code: isLost(error) ? "store_lost" : "store_failed",
      };
    }
  }
}
