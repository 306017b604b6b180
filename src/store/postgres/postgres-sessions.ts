import { HoldfastError } from "../../task/fault.ts";
import { storable } from "../../task/time.ts";
import { ChangeFeed } from "../change-feed.ts";
import { newsPlace, unlessUndecrypted } from "../codec.ts";
import { idOf, type Row } from "../row.ts";
import { sessionTable, storedState } from "../tables/tables.ts";
import type {
  SessionEnd,
  SessionListener,
  SessionNews,
  SessionRoom,
  SessionStore,
  StoredSession,
} from "../session-store.ts";
import { toStored } from "../stored-text.ts";
import type { Database, SqlValue } from "./database.ts";
import { InOrder } from "./in-order.ts";
import type { Names } from "./names.ts";
import type { Owners } from "./ownership.ts";
import { isWorthRepeating, messageOf, storeFailed } from "./postgres-error.ts";
import { SessionNewsReader } from "./session-news.ts";
import { newsStatements, sessionStatements } from "./session-sql.ts";
import { requestIdText } from "../tables/of-task.ts";

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
  readonly #names: Names;
  readonly #sql: ReturnType<typeof sessionStatements>;
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

  async get(id: string): Promise<StoredSession | undefined> {
    const { database } = this.#open();
    const [row] = await database.read(this.#sql.select, [toStored(id)]);
    try {
      return row && unlessUndecrypted(() => sessionTable.read(id, row, database.codecs.reading));
    } catch (error) {
      throw new HoldfastError("store_failed", `A session cannot be read: ${messageOf(error)}.`, {
        cause: error,
      });
    }
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
      const [row] = await database.read(this.#sql.select, [toStored(id)]);
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

  async tasksOf(id: string, limit: number, requestId?: string | number): Promise<readonly string[]> {
    const { database } = this.#open();
    const rows =
      requestId === undefined
        ? await database.read(this.#sql.tasksOfSession, [toStored(id), limit])
        : await database.read(this.#sql.tasksOfRequest, [toStored(id), requestIdText(requestId), limit]);
    return rows.map(idOf);
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
