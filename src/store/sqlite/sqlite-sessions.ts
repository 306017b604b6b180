import type { DatabaseSync, StatementSync } from "node:sqlite";
import { storable } from "../../task/time.ts";
import type { SessionCommand, SessionResult } from "../session-command.ts";
import type { SessionRoom, StoredSession } from "../session-store.ts";
import { prepareRows, type RowStatement } from "./row-statement.ts";
import { columnsOf, integer, text, textOrNull, time, type Row } from "./row.ts";
import * as sql from "./sql.ts";
import { toStored } from "./stored-text.ts";

const sessionAt = columnsOf(["id", "principal", "expires_at", "state"]);
const countAt = columnsOf(["count"]);
const holderAt = columnsOf(["principal", "count"]);

/** The sessions through the writing connection. Whoever uses them has begun a transaction. */
export class SqliteSessions {
  readonly #insert: StatementSync;
  readonly #update: StatementSync;
  readonly #extend: StatementSync;
  readonly #delete: StatementSync;
  readonly #deleteExpired: StatementSync;
  readonly #deleteFirst: StatementSync;
  readonly #count: RowStatement;
  readonly #countOfPrincipal: RowStatement;
  readonly #holders: RowStatement;

  constructor(db: DatabaseSync) {
    this.#insert = db.prepare(sql.insertSession);
    this.#update = db.prepare(sql.updateSession);
    this.#extend = db.prepare(sql.extendSession);
    this.#delete = db.prepare(sql.deleteSession);
    this.#deleteExpired = db.prepare(sql.deleteExpiredSessions);
    this.#deleteFirst = db.prepare(sql.deleteFirstSessions);
    this.#count = prepareRows(db, sql.countSessions);
    this.#countOfPrincipal = prepareRows(db, sql.countSessionsOfPrincipal);
    this.#holders = prepareRows(db, sql.selectSessionHolders);
  }

  apply(command: SessionCommand): SessionResult {
    switch (command.type) {
      case "put_session":
        return { ok: true, deleted: this.#put(command.session, command.room) };
      case "update_session":
        this.#update.run(toStored(command.state), toStored(command.id));
        return { ok: true, deleted: 0 };
      case "extend_sessions":
        for (const { id, expiresAt } of command.ends) this.#extend.run(storable(expiresAt), toStored(id));
        return { ok: true, deleted: 0 };
      case "delete_sessions":
        return {
          ok: true,
          deleted: command.ids.reduce((sum, id) => sum + this.#changed(this.#delete, toStored(id)), 0),
        };
      case "delete_expired_sessions":
        return {
          ok: true,
          deleted: this.#changed(this.#deleteExpired, storable(command.now), command.limit),
        };
    }
  }

  /** Deletes what has to make room first; returns how many. */
  #put({ id, principal, expiresAt, state }: StoredSession, room: SessionRoom): number {
    const holder = principal === null ? null : toStored(principal);
    const own = holder === null ? 0 : countIn(this.#countOfPrincipal.get(holder));
    let deleted =
      own < room.ofPrincipal ? 0 : this.#changed(this.#deleteFirst, holder, own - room.ofPrincipal + 1);
    for (let all = countIn(this.#count.get()); all >= room.total; all = countIn(this.#count.get())) {
      const few = this.#changed(this.#deleteFirst, this.#largest(), 1);
      if (few === 0) break;
      deleted += few;
    }
    this.#insert.run(toStored(id), holder, storable(expiresAt), toStored(state));
    return deleted;
  }

  /** The principal with most sessions, as it is stored. */
  #largest(): string | null {
    let largest: string | null = null;
    let most = 0;
    for (const row of this.#holders.all()) {
      const count = integer(row, holderAt.count);
      if (count > most) [largest, most] = [row[holderAt.principal.place] as string | null, count];
    }
    return largest;
  }

  #changed(statement: StatementSync, ...values: (string | number | null)[]): number {
    return Number(statement.run(...values).changes);
  }
}

export function sessionOf(row: Row): StoredSession {
  return {
    id: text(row, sessionAt.id),
    principal: textOrNull(row, sessionAt.principal),
    expiresAt: time(row, sessionAt.expires_at),
    state: text(row, sessionAt.state),
  };
}

function countIn(row: Row | undefined): number {
  return row === undefined ? 0 : integer(row, countAt.count);
}
