import {
  columnsOf,
  idOf,
  integer,
  integerOrNull,
  isNull,
  newsPlace,
  openedNews,
  type Row,
  text,
  textOrNull,
  toStored,
  unlessUndecrypted,
} from "../row.ts";
import type {
  SessionEnd,
  SessionListener,
  SessionNews,
  SessionRoom,
  SessionStore,
  StoredSession,
} from "../session-store.ts";
import type { Database, SqlValue } from "./database.ts";
import type { Names } from "./names.ts";
import { InOrder, newsStatements, sessionStatements } from "./postgres-messages.ts";
import { storable } from "../../task/time.ts";
import { ChangeFeed } from "../lifecycle.ts";
import { sessionTable, storedState } from "../tables/tables.ts";
import type { Owners } from "./ownership.ts";
import { isWorthRepeating, storeFailed } from "./postgres-error.ts";
import { sessionReads, taskSql } from "../task-reads.ts";
import { readsOf } from "./read-task.ts";

/** How long news are kept for late readers (ms). An owner that has not read for half of that rereads everything it holds. */
const keptMs = 60_000;
/** How many rows are read, or deleted, by one statement. */
const mostAtOnce = 1_000;
/** How many numbers can belong to unfinished transactions at a time. */
const mostOnTheirWay = 200;

const lastAt = columnsOf(["now", "seq"]);
const newsAt = columnsOf(["now", "highest", "seq", "owner", "session", "message"]);

/**
 * News about sessions between owners, as rows that each owner reads once. Numbers are assigned before the commit, so a higher one may be
 * visible first: missing ones are requested again, until no transaction with such a number can still be unfinished. News sent by one owner
 * after another's commit have a higher number, and are published after it.
 */
class SessionNewsReader {
  readonly #database: Database;
  readonly #sql: ReturnType<typeof newsStatements>;
  readonly #owner: string;
  readonly #publish: (news: readonly SessionNews[] | "gap") => void;
  #last = 0;
  /** Numbers below the last one that have not been seen, and when they were first missed. */
  readonly #missing = new Map<number, number>();
  /** Times are those of the database. */
  #readAt = 0;
  #deletedAt = 0;
  #reading: Promise<void> | undefined;
  #readsAgain = false;

  constructor(
    database: Database,
    names: Names,
    owner: string,
    publish: (news: readonly SessionNews[] | "gap") => void,
  ) {
    this.#database = database;
    this.#sql = newsStatements(names);
    this.#owner = owner;
    this.#publish = publish;
  }

  /** Starts with what is committed from now on. */
  async start(): Promise<void> {
    const rows = await this.#database.read(this.#sql.selectLast, [mostOnTheirWay]);
    const now = integer(rows[0] ?? [], lastAt.now);
    this.#readAt = now;
    this.#last = 0;
    this.#missing.clear();
    for (const row of rows) if (!isNull(row, lastAt.seq)) this.#note(integer(row, lastAt.seq), now);
  }

  /** Publishes the news of others. Resolves after everything sent before the call is published. */
  async read(): Promise<void> {
    this.#readsAgain = true;
    this.#reading ??= this.#readAll();
    await this.#reading;
  }

  async #readAll(): Promise<void> {
    try {
      while (this.#readsAgain) {
        this.#readsAgain = false;
        await this.#readSome();
        if (this.#readAt - this.#deletedAt > keptMs / 2) await this.#deleteOld();
      }
    } finally {
      // In the same turn as the last look, so that nobody waits for a finished read.
      this.#reading = undefined;
    }
  }

  async #readSome(): Promise<void> {
    const values = [this.#last, [...this.#missing.keys()], mostAtOnce];
    const rows = await this.#database.read(this.#sql.select, values);
    const [first = []] = rows;
    const now = integer(first, newsAt.now);
    const isLate = now - this.#readAt > keptMs / 2;
    // A copy of the database that has replaced it lacks the last commits.
    const isOlder = (integerOrNull(first, newsAt.highest) ?? this.#last) < this.#last;
    if (isLate || isOlder) {
      await this.start();
      return this.#publish("gap");
    }
    this.#readAt = now;
    const news = rows.filter((row) => !isNull(row, newsAt.seq));
    if (news.length >= mostAtOnce) this.#readsAgain = true;
    for (const row of news) this.#note(integer(row, newsAt.seq), now);
    for (const [seq, since] of this.#missing) if (now - since > keptMs / 2) this.#missing.delete(seq);
    this.#publish(this.#ofOthers(news));
  }

  /** Records a number as seen, and the unseen ones before it as missing. */
  #note(seq: number, now: number): void {
    this.#missing.delete(seq);
    const from = Math.max(this.#last + 1, seq - mostOnTheirWay);
    for (let missed = from; missed < seq; missed++) this.#missing.set(missed, now);
    this.#last = Math.max(this.#last, seq);
  }

  #ofOthers(rows: readonly Row[]): readonly SessionNews[] | "gap" {
    const others = rows.filter((row) => row[newsAt.owner.place] !== this.#owner);
    try {
      return others.map((row) => {
        const news = { id: text(row, newsAt.session), message: textOrNull(row, newsAt.message) };
        return openedNews(news, this.#database.codecs.reading);
      });
    } catch {
      return "gap"; // a damaged row may be about any session
    }
  }

  async #deleteOld(): Promise<void> {
    this.#deletedAt = this.#readAt;
    let deleted = mostAtOnce;
    while (deleted === mostAtOnce) {
      deleted = (await this.#database.query(this.#sql.deleteOld, [keptMs, mostAtOnce])).length;
    }
  }
}

/** How often a write is tried that waited too long for others. */
const mostTries = 3;

/** What sessions need from an open store. */
interface SessionParts {
  readonly database: Database;
  readonly owners: Pick<Owners, "write">;
  readonly owner: string;
  /** Tells all owners to read the news about sessions. */
  readonly channel: { send(news: { readonly messages: true }): void };
}

/** A store's sessions, shared by all its owners. */
export class PostgresSessions implements SessionStore {
  readonly get: SessionStore["get"];
  readonly tasksOf: SessionStore["tasksOf"];
  readonly #names: Names;
  readonly #sql: ReturnType<typeof sessionStatements>;
  readonly #select: string;
  readonly #send: string;
  /** Throws `store_closed` unless the store is open. */
  readonly #open: () => SessionParts;
  readonly #feed = new ChangeFeed<SessionNews>();
  readonly #puts = new InOrder();
  #news: SessionNewsReader | undefined;

  constructor(names: Names, open: () => SessionParts) {
    this.#names = names;
    this.#sql = sessionStatements(names);
    this.#send = newsStatements(names).send;
    const sql = taskSql(names, "postgres");
    this.#select = sql.session;
    ({ get: this.get, tasksOf: this.tasksOf } = sessionReads(
      sql,
      readsOf(() => open().database),
    ));
    this.#open = open;
  }

  /** Call it once, when the database is ready. */
  async start(database: Database, owner: string): Promise<void> {
    const reader = new SessionNewsReader(database, this.#names, owner, (news) =>
      this.#feed.publish(news, "others"),
    );
    await reader.start();
    this.#news = reader;
  }

  /** Call it when others have sent news, and periodically. The next call reads what cannot be read now. */
  async readNews(): Promise<void> {
    await this.#news?.read().catch(() => undefined);
  }

  /** One at a time across all processes, since each counts the sessions. A process uses at most one connection to wait. */
  async put(session: StoredSession, room: SessionRoom): Promise<void> {
    this.#open();
    await this.#puts.run("", () => this.#put(session, room));
  }

  async update(id: string, state: string, before: string): Promise<boolean> {
    const { database } = this.#open();
    for (;;) {
      // Encryptions of the same state differ, so what is stored is compared opened.
      const [row] = await database.read(this.#select, [toStored(id)]);
      const session = row && unlessUndecrypted(() => sessionTable.read(id, row, database.codecs.reading));
      if (row === undefined || session?.state !== before) return false;
      const changed = sessionTable.values(id, { ...session, state }, database.codecs.writing);
      const values = [toStored(id), storedState(changed), storedState(row)];
      if ((await this.#change(this.#sql.update, values)) > 0) return true;
    }
  }

  async extend(ends: readonly SessionEnd[]): Promise<void> {
    await this.#open().database.query(this.#sql.extend, columnsOfEnds(ends));
  }

  async delete(ids: readonly string[]): Promise<void> {
    await this.#change(this.#sql.delete, [ids.map(toStored)]);
  }

  async deleteUnextended(ends: readonly SessionEnd[]): Promise<void> {
    await this.#change(this.#sql.deleteUnextended, columnsOfEnds(ends));
  }

  async deleteExpired(now: number, limit: number): Promise<number> {
    const { database } = this.#open();
    return (await database.query(this.#sql.deleteExpired, [storable(now), limit])).length;
  }

  async send(id: string, message: string): Promise<void> {
    const parts = this.#open();
    const sealed = parts.database.codecs.writing.seal(message, newsPlace(id));
    await parts.database.query(this.#send, [toStored(id), toStored(sealed), parts.owner]);
    this.#publishOwn(parts, [{ id, message }]);
  }

  subscribe(listener: SessionListener): () => void {
    return this.#feed.subscribe(listener);
  }

  async #put(session: StoredSession, room: SessionRoom): Promise<void> {
    const row = { ...session, expiresAt: storable(session.expiresAt) };
    const values = [
      ...sessionTable.values(session.id, row, this.#open().database.codecs.writing),
      storable(room.ofPrincipal),
      storable(room.total),
    ];
    for (let tries = 1; ; tries++) {
      const parts = this.#open();
      try {
        // The count belongs to a statement that began after the lock was acquired.
        const [, rows] = await parts.owners.write((queries) =>
          Promise.all([
            queries.query(this.#sql.lockPuts, [`${this.#names.schema} sessions`]),
            queries.query(this.#sql.put, [...values, parts.owner]),
          ]),
        );
        return this.#changed(parts, rows);
      } catch (error) {
        if (tries === mostTries || !isWorthRepeating(error)) throw storeFailed(error);
      }
    }
  }

  /** Resolves with the number of sessions that the statement changed or deleted. Its last parameter is the owner. */
  async #change(sql: string, values: readonly SqlValue[]): Promise<number> {
    const parts = this.#open();
    const rows = await this.#write(sql, [...values, parts.owner]);
    this.#changed(parts, rows);
    return rows.length;
  }

  async #write(sql: string, values: readonly SqlValue[]): Promise<readonly Row[]> {
    try {
      return await this.#open().owners.write((queries) => queries.query(sql, values));
    } catch (error) {
      throw storeFailed(error);
    }
  }

  /** Publishes the ids of changed or deleted sessions, from rows. */
  #changed(parts: SessionParts, rows: readonly Row[]): void {
    this.#publishOwn(
      parts,
      rows.map((row) => ({ id: idOf(row), message: null })),
    );
  }

  #publishOwn({ channel }: SessionParts, news: readonly SessionNews[]): void {
    if (news.length === 0) return;
    this.#feed.publish(news, "self");
    channel.send({ messages: true });
  }
}

function columnsOfEnds(ends: readonly SessionEnd[]): readonly (readonly (string | number)[])[] {
  return [ends.map(({ id }) => toStored(id)), ends.map(({ expiresAt }) => storable(expiresAt))];
}
