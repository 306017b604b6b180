import { type FaultCode, HoldfastError } from "../../task/fault.ts";
import type { TaskCommand } from "../../task/command.ts";
import { applyCommand, type Applied } from "../apply-command.ts";
import type {
  MessageCommand,
  MessageResult,
  PutMessageResult,
  SessionCommand,
  SessionNews,
  SessionResult,
  SessionRoom,
  StoredSession,
} from "../session-store.ts";
import { mostPieces } from "../left-pieces.ts";
import type { TaskChange } from "../store.ts";
import { isLost, StoreLost } from "../lost-store.ts";
import { KnownRecords, SqliteUsage } from "./known-records.ts";
import type { ChangeLog } from "./change-log.ts";
import { applyLimitHere } from "./sqlite-limits.ts";
import { OwnerWrites, SqliteOwners } from "./sqlite-owners.ts";
import { isFaultOfOneStatement, isRefusedForGood, messageOf } from "./sqlite-error.ts";
import { writeReport } from "./admin-sql.ts";
import { SqliteTables } from "./sqlite-tables.ts";
import type { CommandAnswer, WriterCommand, WriterResult } from "./writer-connection.ts";
import { readTask, type Statements } from "./statements.ts";
import { columnsOf, integer, type Row, text, toStored, unlessUndecrypted } from "../row.ts";
import { messageTable, queuedMessage } from "../tables/of-task.ts";
import { sessionTable } from "../tables/tables.ts";
import * as sql from "./sql.ts";
import { storable } from "../../task/time.ts";

export interface CommittedGroup {
  readonly answers: readonly CommandAnswer[];
  readonly changes: readonly TaskChange[];
}

/** Writes groups of commands through one connection: one transaction and one fsync per group. */
export class GroupWriter {
  readonly #sql: Statements;
  readonly #place: string;
  readonly #owner: string;
  readonly #owners: SqliteOwners;
  readonly #ownerWrites: OwnerWrites;
  readonly #log: ChangeLog | undefined;
  readonly #records: KnownRecords;
  readonly #usage: SqliteUsage;
  readonly #tables: SqliteTables;
  readonly #sessions: SqliteSessions;
  readonly #messages: SqliteMessages;

  /** `place` names the database in messages. Without a log, the caller itself tells other owners what was committed. */
  constructor(
    statements: Statements,
    place: string,
    owner: string,
    lives: (owner: string) => boolean,
    log?: ChangeLog,
    records = new KnownRecords(statements),
  ) {
    this.#records = records;
    this.#sql = statements;
    this.#place = place;
    this.#owner = owner;
    this.#log = log;
    this.#usage = new SqliteUsage(statements, place);
    this.#tables = new SqliteTables(statements, records, this.#usage, lives);
    this.#owners = new SqliteOwners(statements);
    this.#ownerWrites = new OwnerWrites(statements);
    this.#sessions = new SqliteSessions(statements);
    this.#messages = new SqliteMessages(statements, owner);
  }

  /**
   * Returns after the commit; if it throws, nothing of the group was written. Waits up to `patienceMs` for other writers. Savepoints take a
   * quarter of the total time, and commands almost never fail, so only after a failure are all applied again, each in a savepoint.
   */
  commit(commands: readonly WriterCommand[], patienceMs = 0): CommittedGroup {
    try {
      return this.#transaction(patienceMs, () => this.#applyAll(commands, false));
    } catch (error) {
      if (isLost(error) || !isFaultOfOneStatement(error)) throw error;
      return this.#transaction(patienceMs, () => this.#applyAll(commands, true));
    }
  }

  #transaction(patienceMs: number, apply: () => CommittedGroup): CommittedGroup {
    try {
      return this.#sql.transaction(patienceMs, () => {
        this.#records.begin();
        const owners = this.#owners.ids();
        if (!owners.has(this.#owner)) throw new StoreLost(this.#place, false);
        const group = apply();
        // A process that opens the database first becomes an owner, and gets all commits from then on.
        if (owners.size > 1) this.#log?.append(group.changes, newsOf(group));
        return group;
      });
    } catch (error) {
      this.#forget();
      throw error;
    }
  }

  #apply(command: WriterCommand): { readonly result: WriterResult; readonly changes: readonly TaskChange[] } {
    switch (command.type) {
      case "sessions":
        return { result: this.#sessions.apply(command.command), changes: [] };
      case "messages":
        return { result: this.#messages.apply(command.command), changes: [] };
      case "limits": {
        const { answer, others } = applyLimitHere(this.#sql, this.#owner, command.call);
        return { result: answer, changes: others.map((id) => ({ id, version: 0 })) };
      }
      case "handlers":
        this.#ownerWrites.setHandlers(this.#owner, command.handlers);
        this.#log?.appendGap();
        return { result: { ok: true }, changes: [] };
      case "mark_file":
        this.#log?.appendMark(command.mark);
        return { result: { ok: true }, changes: [] };
      case "left_pieces":
        return { result: { ok: true, count: this.#deleteLeft(command.ids) }, changes: [] };
      case "report":
        writeReport(this.#sql, this.#owner, command);
        return { result: { ok: true }, changes: [] };
      default:
        return this.#applyToTasks(command);
    }
  }

  /** Pieces of deleted tasks: as many as a commit should take. */
  #deleteLeft(ids: readonly string[]): number {
    let count = 0;
    for (const id of ids) if (count < mostPieces) count += this.#sql.run(sql.rows.deletePieces, toStored(id));
    return count;
  }

  #applyToTasks(command: TaskCommand): Applied {
    const applied = applyCommand(this.#tables, this.#owner, command);
    const { result } = applied;
    if (command.type !== "create" || result.ok || result.reason !== "quota") return applied;
    return this.#usage.correct(command.task.principal)
      ? applyCommand(this.#tables, this.#owner, command)
      : applied;
  }

  /** What was written last is undone. */
  #forget(): void {
    this.#records.forgetAll();
    this.#usage.forget();
  }

  /** Throws at the first command that fails; with savepoints, undoes that one and no other. */
  #applyAll(commands: readonly WriterCommand[], withSavepoints: boolean): CommittedGroup {
    const answers: CommandAnswer[] = [];
    const changes: TaskChange[] = [];
    for (const command of commands) {
      if (withSavepoints) this.#sql.run("SAVEPOINT command");
      try {
        const applied = this.#apply(command);
        for (const change of applied.changes) changes.push(change); // too many for the arguments of one call
        answers.push({ result: applied.result });
      } catch (error) {
        // A full disk or an I/O error ends the whole transaction, even commands that seemed to succeed.
        if (!withSavepoints || !this.#sql.db.isTransaction || !isFaultOfOneStatement(error)) throw error;
        this.#forget();
        this.#sql.run("ROLLBACK TO command");
        answers.push({ problem: messageOf(error), code: codeOf(error) });
      }
      if (withSavepoints) this.#sql.run("RELEASE command");
    }
    return { answers, changes };
  }
}

function codeOf(error: unknown): FaultCode {
  if (error instanceof HoldfastError) return error.code;
  return isRefusedForGood(error) ? "store_refused" : "store_failed";
}

export function newsOf({ answers }: CommittedGroup): readonly SessionNews[] {
  return answers.flatMap((answer) =>
    "result" in answer && "news" in answer.result ? answer.result.news : [],
  );
}

const countAt = columnsOf(["count"]);

type Put = Extract<MessageCommand, { readonly type: "put_message" }>;

/** The queues of tasks, on the write connection. The caller has begun a transaction. */
export class SqliteMessages {
  readonly #sql: Statements;
  readonly #owner: string;

  constructor(statements: Statements, owner: string) {
    this.#sql = statements;
    this.#owner = owner;
  }

  apply(command: MessageCommand): MessageResult {
    switch (command.type) {
      case "put_message":
        return { put: this.#put(command), taken: [] };
      case "take_messages":
        return { put: { ok: true }, taken: this.#take(command.taskId, command.limit) };
    }
  }

  #put({ taskId, message: given, maxMessages }: Put): PutMessageResult {
    const id = toStored(taskId);
    if (this.#sql.get(sql.selectHasTask, id) === undefined) return { ok: false, reason: "unknown" };
    if (maxMessages !== null && this.#countOf(id) >= maxMessages) return { ok: false, reason: "full" };
    const row = { body: given.body, owner: given.bound ? this.#owner : null };
    this.#sql.run(sql.insertMessage, ...messageTable.values(taskId, row, this.#sql.codec));
    return { ok: true };
  }

  #countOf(id: string): number {
    const row = this.#sql.get(sql.countMessages, id);
    return row === undefined ? 0 : integer(row, countAt.count);
  }

  #take(taskId: string, limit: number | null): readonly string[] {
    const id = toStored(taskId);
    const rows = this.#sql.all(sql.selectMessages, id, this.#owner, limit ?? -1);
    const last = rows.at(-1);
    // Mostly nothing waits, and a transaction that writes nothing costs no fsync.
    if (last !== undefined)
      this.#sql.run(sql.deleteMessagesTo, id, this.#owner, integer(last, queuedMessage.at.seq));
    return readTask(taskId, () => rows.map((row) => queuedMessage.read(taskId, row, this.#sql.codec).body));
  }
}

const idAt = columnsOf(["id"]);

const holderAt = columnsOf(["principal", "count"]);

/** The sessions, on the write connection. The caller has begun a transaction. */
export class SqliteSessions {
  readonly #sql: Statements;

  constructor(statements: Statements) {
    this.#sql = statements;
  }

  apply(command: SessionCommand): SessionResult {
    switch (command.type) {
      case "put_session":
        return changed(this.#put(command.session, command.room));
      case "update_session": {
        const { id, state, before } = command;
        return changed(this.#update(id, state, before) ? [id] : []);
      }
      case "extend_sessions":
        for (const { id, expiresAt } of command.ends)
          this.#sql.run(sql.extendSession, storable(expiresAt), toStored(id), storable(expiresAt));
        return changed([]);
      case "delete_sessions":
        return changed(command.ids.filter((id) => this.#sql.run(sql.deleteSession, toStored(id)) > 0));
      case "delete_unextended_sessions": {
        const ended = command.ends.filter(
          ({ id, expiresAt }) =>
            this.#sql.run(sql.deleteUnextendedSession, toStored(id), storable(expiresAt)) > 0,
        );
        return changed(ended.map(({ id }) => id));
      }
      case "delete_expired_sessions": {
        const count = this.#sql.run(sql.deleteExpiredSessions, storable(command.now), command.limit);
        return { ok: true, count, news: [] };
      }
      case "send_to_session":
        return { ok: true, count: 0, news: [{ id: command.id, message: command.message }] };
    }
  }

  /** Encryptions of the same state differ, so what is stored is compared opened. */
  #update(id: string, state: string, before: string): boolean {
    const { codec } = this.#sql;
    const row = this.#sql.get(sql.taskStatements.session, toStored(id));
    const known = row === undefined ? undefined : unlessUndecrypted(() => sessionTable.read(id, row, codec));
    if (known?.state !== before) return false;
    return this.#sql.run(sql.insertSession, ...sessionTable.values(id, { ...known, state }, codec)) > 0;
  }

  /** First deletes sessions to make room; returns their ids. */
  #put(given: StoredSession, room: SessionRoom): string[] {
    const { id, principal } = given;
    const holder = principal === null ? null : toStored(principal);
    const own = holder === null ? 0 : countIn(this.#sql.get(sql.countSessionsOfPrincipal, holder));
    const deleted = own < room.ofPrincipal ? [] : this.#makeRoom(holder, own - room.ofPrincipal + 1);
    for (
      let all = countIn(this.#sql.get(sql.countSessions));
      all >= room.total;
      all = countIn(this.#sql.get(sql.countSessions))
    ) {
      const few = this.#makeRoom(this.#largest(), 1);
      if (few.length === 0) break;
      deleted.push(...few);
    }
    const row = { ...given, expiresAt: storable(given.expiresAt) };
    this.#sql.run(sql.insertSession, ...sessionTable.values(id, row, this.#sql.codec));
    return deleted;
  }

  #makeRoom(holder: string | null, count: number): string[] {
    return this.#sql.all(sql.deleteFirstSessions, holder, count).map((row) => text(row, idAt.id));
  }

  /** The principal with most sessions, as stored. */
  #largest(): string | null {
    let largest: string | null = null;
    let most = 0;
    for (const row of this.#sql.all(sql.selectSessionHolders)) {
      const count = integer(row, holderAt.count);
      if (count > most) [largest, most] = [row[holderAt.principal.place] as string | null, count];
    }
    return largest;
  }
}

function changed(ids: readonly string[]): SessionResult {
  return { ok: true, count: ids.length, news: ids.map((id) => ({ id, message: null })) };
}

function countIn(row: Row | undefined): number {
  return row === undefined ? 0 : integer(row, countAt.count);
}
