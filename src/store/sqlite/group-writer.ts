import type { DatabaseSync, StatementSync } from "node:sqlite";
import { HoldfastError } from "../../task/fault.ts";
import { applyCommand } from "../apply-command.ts";
import type { SessionNews, SessionRoom, StoredSession } from "../session-store.ts";
import type { TaskChange } from "../store.ts";
import { isLost, StoreLost } from "../lost-store.ts";
import { beginWrite } from "./begin-write.ts";
import { ChangeLog } from "./change-log.ts";
import { isLocked } from "./owner-lock.ts";
import { OwnerWrites, SqliteOwners } from "./sqlite-owners.ts";
import { isFaultOfOneStatement, messageOf } from "./sqlite-error.ts";
import { SqliteReportTable } from "./sqlite-reports.ts";
import { SqliteTables } from "./sqlite-tables.ts";
import type { CommandAnswer, WriterCommand, WriterResult } from "./writer-messages.ts";
import type { MessageCommand, MessageResult } from "../message-command.ts";
import type { PutMessageResult } from "../message-queues.ts";
import { readTask } from "./read-task.ts";
import { prepareRows, type RowStatement } from "./row-statement.ts";
import { columnsOf, integer, text, type Row } from "../row.ts";
import * as sql from "./sql.ts";
import { toStored } from "../stored-text.ts";
import { storable } from "../../task/time.ts";
import type { SessionCommand, SessionResult } from "../session-command.ts";

export interface CommittedGroup {
  readonly answers: readonly CommandAnswer[];
  readonly changes: readonly TaskChange[];
}

/** Writes groups of commands through one connection: one transaction and one fsync per group. */
export class GroupWriter {
  readonly #db: DatabaseSync;
  readonly #path: string;
  readonly #owner: string;
  readonly #owners: SqliteOwners;
  readonly #ownerWrites: OwnerWrites;
  readonly #log: ChangeLog;
  readonly #tables: SqliteTables;
  readonly #sessions: SqliteSessions;
  readonly #messages: SqliteMessages;
  readonly #reports: SqliteReportTable;
  readonly #savepoint: StatementSync;
  readonly #release: StatementSync;
  readonly #undo: StatementSync;

  /** For the owner `owner` of the database at `path`. */
  constructor(db: DatabaseSync, path: string, owner: string) {
    this.#db = db;
    this.#path = path;
    this.#owner = owner;
    this.#tables = new SqliteTables(db, (id) => isLocked(path, id));
    this.#owners = new SqliteOwners(db);
    this.#ownerWrites = new OwnerWrites(db);
    this.#log = new ChangeLog(db, owner);
    this.#sessions = new SqliteSessions(db);
    this.#messages = new SqliteMessages(db, owner);
    this.#reports = new SqliteReportTable(db, owner);
    this.#savepoint = db.prepare("SAVEPOINT command");
    this.#release = db.prepare("RELEASE command");
    this.#undo = db.prepare("ROLLBACK TO command");
  }

  /**
   * Returns after the commit; if it throws, nothing of the group was written. Waits up to `patienceMs` for other writers. Savepoints take a
   * quarter of the total time, and commands almost never fail, so only after a failure are all applied again, each in a savepoint.
   */
  commit(commands: readonly WriterCommand[], patienceMs = 0): CommittedGroup {
    try {
      return this.#transaction(patienceMs, () => this.#applyAll(commands));
    } catch (error) {
      if (isLost(error) || !isFaultOfOneStatement(error)) throw error;
      return this.#transaction(patienceMs, () => this.#applyEach(commands));
    }
  }

  #transaction(patienceMs: number, apply: () => CommittedGroup): CommittedGroup {
    beginWrite(this.#db, patienceMs);
    try {
      const owners = this.#owners.ids();
      if (!owners.has(this.#owner)) throw new StoreLost(this.#path, false);
      const group = apply();
      // A process that opens the database first becomes an owner, and gets all commits from then on.
      if (owners.size > 1) this.#log.append(group.changes, newsOf(group));
      this.#db.exec("COMMIT");
      return group;
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
      throw error;
    }
  }

  #apply(command: WriterCommand): { readonly result: WriterResult; readonly changes: readonly TaskChange[] } {
    switch (command.type) {
      case "sessions":
        return { result: this.#sessions.apply(command.command), changes: [] };
      case "messages":
        return { result: this.#messages.apply(command.command), changes: [] };
      case "handlers":
        this.#ownerWrites.setHandlers(this.#owner, command.handlers);
        this.#log.appendGap();
        return { result: { ok: true }, changes: [] };
      case "report":
        this.#reports.write(command);
        return { result: { ok: true }, changes: [] };
      default:
        return applyCommand(this.#tables, this.#owner, command);
    }
  }

  /** Throws at the first command that fails. */
  #applyAll(commands: readonly WriterCommand[]): CommittedGroup {
    const answers: CommandAnswer[] = [];
    const changes: TaskChange[] = [];
    for (const command of commands) {
      const applied = this.#apply(command);
      for (const change of applied.changes) changes.push(change); // too many for the arguments of one call
      answers.push({ result: applied.result });
    }
    return { answers, changes };
  }

  /** Undoes a command that fails, and no other. */
  #applyEach(commands: readonly WriterCommand[]): CommittedGroup {
    const answers: CommandAnswer[] = [];
    const changes: TaskChange[] = [];
    for (const command of commands) {
      this.#savepoint.run();
      try {
        const applied = this.#apply(command);
        for (const change of applied.changes) changes.push(change);
        answers.push({ result: applied.result });
      } catch (error) {
        // A full disk or an I/O error ends the whole transaction, even commands that seemed to succeed.
        if (!this.#db.isTransaction || !isFaultOfOneStatement(error)) throw error;
        this.#undo.run();
        answers.push({
          problem: messageOf(error),
          code: error instanceof HoldfastError ? error.code : "store_failed",
        });
      }
      this.#release.run();
    }
    return { answers, changes };
  }
}

function newsOf({ answers }: CommittedGroup): readonly SessionNews[] {
  return answers.flatMap((answer) =>
    "result" in answer && "news" in answer.result ? answer.result.news : [],
  );
}

const countAt = columnsOf(["count"]);

const messageAt = columnsOf(["seq", "body"]);

type Put = Extract<MessageCommand, { readonly type: "put_message" }>;

/** The queues of tasks, on the write connection. The caller has begun a transaction. */
export class SqliteMessages {
  readonly #hasTask: RowStatement;
  readonly #insert: StatementSync;
  readonly #count: RowStatement;
  readonly #first: RowStatement;
  readonly #deleteTo: StatementSync;
  readonly #owner: string;

  constructor(db: DatabaseSync, owner: string) {
    this.#owner = owner;
    this.#hasTask = prepareRows(db, sql.selectHasTask);
    this.#insert = db.prepare(sql.insertMessage);
    this.#count = prepareRows(db, sql.countMessages);
    this.#first = prepareRows(db, sql.selectMessages);
    this.#deleteTo = db.prepare(sql.deleteMessagesTo);
  }

  apply(command: MessageCommand): MessageResult {
    switch (command.type) {
      case "put_message":
        return { put: this.#put(command), taken: [] };
      case "take_messages":
        return { put: { ok: true }, taken: this.#take(command.taskId, command.limit) };
    }
  }

  #put({ taskId, message, maxMessages }: Put): PutMessageResult {
    const id = toStored(taskId);
    if (this.#hasTask.get(id) === undefined) return { ok: false, reason: "unknown" };
    if (maxMessages !== null && this.#countOf(id) >= maxMessages) return { ok: false, reason: "full" };
    this.#insert.run(id, toStored(message.body), message.bound ? this.#owner : null);
    return { ok: true };
  }

  #countOf(id: string): number {
    const row = this.#count.get(id);
    return row === undefined ? 0 : integer(row, countAt.count);
  }

  #take(taskId: string, limit: number | null): readonly string[] {
    const id = toStored(taskId);
    const rows = this.#first.all(id, this.#owner, limit ?? -1);
    const last = rows.at(-1);
    // Mostly nothing waits, and a transaction that writes nothing costs no fsync.
    if (last !== undefined) this.#deleteTo.run(id, this.#owner, integer(last, messageAt.seq));
    return readTask(taskId, () => rows.map((row) => text(row, messageAt.body)));
  }
}

const idAt = columnsOf(["id"]);

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
