import type { DatabaseSync, StatementSync } from "node:sqlite";
import { HoldfastError } from "../../task/fault.ts";
import { applyCommand } from "../apply-command.ts";
import type { SessionNews } from "../session-store.ts";
import type { TaskChange } from "../store.ts";
import { isLost, StoreLost } from "../lost-store.ts";
import { beginWrite } from "./begin-write.ts";
import { ChangeLog } from "./change-log.ts";
import { isLocked } from "./owner-lock.ts";
import { OwnerWrites, SqliteOwners } from "./sqlite-owners.ts";
import { isFaultOfOneStatement, messageOf } from "./sqlite-error.ts";
import { SqliteMessages } from "./sqlite-messages.ts";
import { SqliteReportTable } from "./sqlite-reports.ts";
import { SqliteSessions } from "./sqlite-sessions.ts";
import { SqliteTables } from "./sqlite-tables.ts";
import type { CommandAnswer, WriterCommand, WriterResult } from "./writer-messages.ts";

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
