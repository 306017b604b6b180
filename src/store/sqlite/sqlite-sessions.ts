import type { DatabaseSync, StatementSync } from "node:sqlite";
import { storable } from "../../task/time.ts";
import type { SessionCommand, SessionResult } from "../session-command.ts";
import type { SessionRoom, StoredSession } from "../session-store.ts";
import { prepareRows, type RowStatement } from "./row-statement.ts";
import { columnsOf, integer, text, type Row } from "../row.ts";
import * as sql from "./sql.ts";
import { toStored } from "../stored-text.ts";

const idAt = columnsOf(["id"]);
const countAt = columnsOf(["count"]);
const holderAt = columnsOf(["principal", "count"]);

/** The sessions, on the write connection. The caller has begun a transaction. */
export class SqliteSessions {
  readonly #insert: StatementSync;
  readonly #update: StatementSync;
  readonly #extend: StatementSync;
  readonly #delete: StatementSync;
  readonly #deleteUnextended: StatementSync;
  readonly #deleteExpired: StatementSync;
  readonly #deleteFirst: RowStatement;
  readonly #count: RowStatement;
  readonly #countOfPrincipal: RowStatement;
  readonly #holders: RowStatement;

  constructor(db: DatabaseSync) {
    this.#insert = db.prepare(sql.insertSession);
    this.#update = db.prepare(sql.updateSession);
    this.#extend = db.prepare(sql.extendSession);
    this.#delete = db.prepare(sql.deleteSession);
    this.#deleteExpired = db.prepare(sql.deleteExpiredSessions);
    this.#deleteUnextended = db.prepare(sql.deleteUnextendedSession);
    this.#deleteFirst = prepareRows(db, sql.deleteFirstSessions);
    this.#count = prepareRows(db, sql.countSessions);
    this.#countOfPrincipal = prepareRows(db, sql.countSessionsOfPrincipal);
    this.#holders = prepareRows(db, sql.selectSessionHolders);
  }

  apply(command: SessionCommand): SessionResult {
    switch (command.type) {
      case "put_session":
        return changed(this.#put(command.session, command.room));
      case "update_session": {
        const { id, state, before } = command;
        const isUpdated = this.#run(this.#update, toStored(state), toStored(id), toStored(before)) > 0;
        return changed(isUpdated ? [id] : []);
      }
      case "extend_sessions":
        for (const { id, expiresAt } of command.ends)
          this.#extend.run(storable(expiresAt), toStored(id), storable(expiresAt));
        return changed([]);
      case "delete_sessions":
        return changed(command.ids.filter((id) => this.#run(this.#delete, toStored(id)) > 0));
      case "delete_unextended_sessions": {
        const ended = command.ends.filter(
          ({ id, expiresAt }) => this.#run(this.#deleteUnextended, toStored(id), storable(expiresAt)) > 0,
        );
        return changed(ended.map(({ id }) => id));
      }
      case "delete_expired_sessions": {
        const count = this.#run(this.#deleteExpired, storable(command.now), command.limit);
        return { ok: true, count, news: [] };
      }
      case "send_to_session":
        return { ok: true, count: 0, news: [{ id: command.id, message: command.message }] };
    }
  }

  /** First deletes sessions to make room; returns their ids. */
  #put({ id, principal, expiresAt, state }: StoredSession, room: SessionRoom): string[] {
    const holder = principal === null ? null : toStored(principal);
    const own = holder === null ? 0 : countIn(this.#countOfPrincipal.get(holder));
    const deleted = own < room.ofPrincipal ? [] : this.#makeRoom(holder, own - room.ofPrincipal + 1);
    for (let all = countIn(this.#count.get()); all >= room.total; all = countIn(this.#count.get())) {
      const few = this.#makeRoom(this.#largest(), 1);
      if (few.length === 0) break;
      deleted.push(...few);
    }
    this.#insert.run(toStored(id), holder, storable(expiresAt), toStored(state));
    return deleted;
  }

  #makeRoom(holder: string | null, count: number): string[] {
    return this.#deleteFirst.all(holder, count).map((row) => text(row, idAt.id));
  }

  /** The principal with most sessions, as stored. */
  #largest(): string | null {
    let largest: string | null = null;
    let most = 0;
    for (const row of this.#holders.all()) {
      const count = integer(row, holderAt.count);
      if (count > most) [largest, most] = [row[holderAt.principal.place] as string | null, count];
    }
    return largest;
  }

  /** Returns the number of rows that it changed. */
  #run(statement: StatementSync, ...values: (string | number | null)[]): number {
    return Number(statement.run(...values).changes);
  }
}

function changed(ids: readonly string[]): SessionResult {
  return { ok: true, count: ids.length, news: ids.map((id) => ({ id, message: null })) };
}

function countIn(row: Row | undefined): number {
  return row === undefined ? 0 : integer(row, countAt.count);
}
