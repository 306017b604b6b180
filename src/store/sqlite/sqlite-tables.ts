import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { StoredDelivery } from "../../task/delivery.ts";
import type { JournalEntry } from "../../task/journal.ts";
import type { Usage } from "../../task/queue.ts";
import type { TaskRecord, TaskRequest } from "../../task/record.ts";
import type {
  EventFacts,
  EventQuery,
  QueuedTasks,
  RunnableTasks,
  RunningQuery,
  RunningTasks,
  ToWakeQuery,
} from "../facts.ts";
import type { FairQuery } from "../fair-order.ts";
import type { DeliveryQuery, ExcessQuery } from "../outbox.ts";
import type { TableWrite } from "../table-write.ts";
import type { TaskTables } from "../task-tables.ts";
import { journalEntryOf, journalRowOf } from "../journal-row.ts";
import { changingRowOf, recordOf, rowOf } from "./record-row.ts";
import { readTask } from "./read-task.ts";
import { prepareRows, type RowStatement } from "./row-statement.ts";
import { columnsOf, idOf, integer, text } from "../row.ts";
import { isKeyTaken } from "./sqlite-error.ts";
import * as sql from "./sql.ts";
import { SqliteAdminWrites } from "./sqlite-admin.ts";
import { SqliteEvents } from "./sqlite-events.ts";
import { OwnerWrites, SqliteOwners } from "./sqlite-owners.ts";
import { SqliteLines } from "./sqlite-lines.ts";
import { SqliteOutboxTable } from "./sqlite-outbox.ts";
import { SqliteRelatives } from "./sqlite-relatives.ts";
import { SqliteQueue } from "./sqlite-queue.ts";
import { toStored } from "../stored-text.ts";

const usageAt = columnsOf(["unfinished", "retained"]);
const secretAt = columnsOf(["value"]);

/** The tables, on the write connection. The caller has begun a transaction. */
export class SqliteTables implements TaskTables {
  readonly #task: RowStatement;
  readonly #entry: RowStatement;
  readonly #byIdempotencyKey: RowStatement;
  readonly #usage: RowStatement;
  readonly #insertTask: StatementSync;
  readonly #insertRequest: StatementSync;
  readonly #updateTask: StatementSync;
  readonly #releaseKey: StatementSync;
  readonly #upsertJournal: StatementSync;
  readonly #deleteFailures: StatementSync;
  readonly #insertOutcome: StatementSync;
  readonly #insertSecret: StatementSync;
  readonly #secret: RowStatement;
  readonly #queue: SqliteQueue;
  readonly #owners: SqliteOwners;
  readonly #ownerWrites: OwnerWrites;
  readonly #isLocked: (owner: string) => boolean;
  readonly #relatives: SqliteRelatives;
  readonly #events: SqliteEvents;
  readonly #lines: SqliteLines;
  readonly #admin: SqliteAdminWrites;
  readonly #outbox: SqliteOutboxTable;
  readonly #deletable: RowStatement;
  readonly #deletes: readonly StatementSync[];

  /** `isLocked` tells whether an owner holds its lock. */
  constructor(db: DatabaseSync, isLocked: (owner: string) => boolean) {
    this.#task = prepareRows(db, sql.selectTask);
    this.#entry = prepareRows(db, sql.selectJournalEntry);
    this.#byIdempotencyKey = prepareRows(db, sql.selectTaskByIdempotencyKey);
    this.#usage = prepareRows(db, sql.selectUsage);
    this.#insertTask = db.prepare(sql.insertTask);
    this.#insertRequest = db.prepare(sql.insertRequest);
    this.#updateTask = db.prepare(sql.updateTask);
    this.#releaseKey = db.prepare(sql.updateKeyReleased);
    this.#upsertJournal = db.prepare(sql.upsertJournal);
    this.#deleteFailures = db.prepare(sql.deleteFailures);
    this.#insertOutcome = db.prepare(sql.insertOutcome);
    this.#insertSecret = db.prepare(sql.insertSecret);
    this.#secret = prepareRows(db, sql.selectSecret);
    this.#queue = new SqliteQueue(db);
    this.#owners = new SqliteOwners(db);
    this.#ownerWrites = new OwnerWrites(db);
    this.#isLocked = isLocked;
    this.#relatives = new SqliteRelatives(db);
    this.#events = new SqliteEvents(db);
    this.#lines = new SqliteLines(db);
    this.#admin = new SqliteAdminWrites(db);
    this.#outbox = new SqliteOutboxTable(db);
    this.#deletable = prepareRows(db, sql.selectDeletable);
    this.#deletes = [
      sql.deleteMessages,
      sql.deleteLines,
      sql.deleteEvents,
      sql.deleteJournal,
      sql.deleteOutcome,
      sql.deleteRequest,
      sql.deleteTask,
    ].map((each) => db.prepare(each));
  }

  task(id: string): TaskRecord | undefined {
    return readTask(id, () => {
      const row = this.#task.get(toStored(id));
      return row === undefined ? undefined : recordOf(row);
    });
  }

  entry(id: string, key: string): JournalEntry | undefined {
    return readTask(id, () => {
      const row = this.#entry.get(toStored(id), toStored(key));
      return row === undefined ? undefined : journalEntryOf(row);
    });
  }

  children(parent: string): readonly TaskRecord[] {
    return this.#relatives.children(parent);
  }

  event(taskId: string, query: EventQuery): EventFacts {
    return this.#events.facts(taskId, query);
  }

  taskByIdempotencyKey(principal: string | null, key: string): TaskRecord | undefined {
    const row = this.#byIdempotencyKey.get(toStored(principal ?? ""), toStored(key));
    return row === undefined ? undefined : recordOf(row);
  }

  usage(principal?: string): Usage {
    const row = this.#usage.get(principal === undefined ? "t" : `p${toStored(principal)}`);
    return row === undefined
      ? { unfinished: 0, retained: 0 }
      : { unfinished: integer(row, usageAt.unfinished), retained: integer(row, usageAt.retained) };
  }

  lives(owner: string): boolean {
    return this.#isLocked(owner);
  }

  isServed(task: TaskRecord): boolean {
    return this.#owners.serve(task);
  }

  runnable(query: FairQuery, own: string): RunnableTasks {
    return this.#queue.runnable(query, this.#owners.mayTake(own));
  }

  toWake({ now, limit }: ToWakeQuery): QueuedTasks {
    return this.#queue.toWake(now, limit);
  }

  running(query: RunningQuery): RunningTasks {
    if (this.#isLocked(query.owner)) return { alive: true, tasks: [], unreadable: [], next: null };
    return this.#queue.running(query);
  }

  write(write: TableWrite): boolean {
    switch (write.do) {
      case "insert":
        return this.#insert(write.task, write.request);
      case "save":
        this.#save(write);
        return true;
      case "append_lines":
        this.#lines.append(write.id, write.lines, write.forget);
        return true;
      case "release_key":
        this.#releaseKey.run(write.deleteBy, write.deleteBy, toStored(write.id));
        return true;
      case "remove":
        for (const statement of this.#deletes) statement.run(toStored(write.id));
        if (write.isChild) this.#relatives.delete(write.id);
        return true;
      case "keep_event":
        this.#events.keep(write.taskId, write.name, write.taken ? null : write.value, write.dedupeId);
        return true;
      case "take_event":
        this.#events.take(write.seq);
        return true;
      case "keep_secret":
        this.#insertSecret.run(write.name, write.value);
        return true;
      case "retire_owner":
        this.#ownerWrites.retire(write.owner, write.forgetAt);
        return true;
      case "write_outbox":
        this.#outbox.write(write.write);
        return true;
      default:
        this.#admin.write(write);
        return true;
    }
  }

  #insert(task: TaskRecord, request: TaskRequest): boolean {
    try {
      this.#insertTask.run(...rowOf(task));
    } catch (error) {
      if (isKeyTaken(error)) return false;
      throw error;
    }
    this.#relatives.add(task);
    const { origin, arguments: args, prepared } = request;
    this.#insertRequest.run(
      toStored(task.id),
      JSON.stringify(origin),
      toStored(args),
      prepared === null ? null : toStored(prepared),
    );
    return true;
  }

  #save({ task, journal, forgets, outcome }: Extract<TableWrite, { do: "save" }>): void {
    const id = toStored(task.id);
    this.#updateTask.run(...changingRowOf(task), id);
    if (forgets === "failures") this.#deleteFailures.run(id);
    for (const entry of journal) this.#upsertJournal.run(id, ...journalRowOf(entry, toStored));
    if (outcome === null) return;
    // The record says more about a result than this table.
    const kind = outcome.kind === "error" ? "error" : "result";
    this.#insertOutcome.run(id, kind, toStored(outcome.body));
  }

  deletable(now: number, limit: number): readonly string[] {
    return this.#deletable.all(now, limit).map(idOf);
  }

  deliveries(query: DeliveryQuery): readonly StoredDelivery[] {
    return this.#outbox.deliveries(query);
  }

  excessDeliveries(query: ExcessQuery): readonly number[] {
    return this.#outbox.excess(query);
  }

  secret(name: string): string | undefined {
    const row = this.#secret.get(name);
    return row === undefined ? undefined : text(row, secretAt.value);
  }
}
