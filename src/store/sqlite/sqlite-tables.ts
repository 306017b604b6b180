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
import { OwnerWrites, SqliteOwners } from "./sqlite-owners.ts";
import { SqliteOutboxTable } from "./sqlite-outbox.ts";
import { SqliteQueue } from "./sqlite-queue.ts";
import { toStored } from "../stored-text.ts";
import type { TaskLine } from "../../task/task-line.ts";
import { lineRowOf } from "../line-row.ts";
import { readableTasks } from "./readable-rows.ts";

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

/** The logs and outputs of tasks, on the write connection. */
export class SqliteLines {
  readonly #insert: StatementSync;
  readonly #delete: StatementSync;

  constructor(db: DatabaseSync) {
    this.#insert = db.prepare(sql.insertLine);
    this.#delete = db.prepare(sql.deleteLine);
  }

  append(id: string, lines: readonly TaskLine[], forget: readonly number[]): void {
    const stored = toStored(id);
    for (const line of lines) this.#insert.run(stored, ...lineRowOf(line, toStored));
    for (const seq of forget) this.#delete.run(stored, seq);
  }
}

/** The tasks that other tasks made, on the write connection. */
export class SqliteRelatives {
  readonly #children: RowStatement;
  readonly #insert: StatementSync;
  readonly #delete: StatementSync;

  constructor(db: DatabaseSync) {
    this.#children = prepareRows(db, sql.selectChildren);
    this.#insert = db.prepare(sql.insertChild);
    this.#delete = db.prepare(sql.deleteChild);
  }

  /** Leaves out unreadable ones: the process that runs them reports them. */
  children(parent: string): readonly TaskRecord[] {
    return readableTasks(this.#children.all(toStored(parent)), []);
  }

  add({ id, parent }: TaskRecord): void {
    if (parent !== null) this.#insert.run(toStored(id), toStored(parent.id), toStored(parent.root));
  }

  delete(id: string): void {
    this.#delete.run(toStored(id));
  }
}

const keptAt = columnsOf(["seq", "value"]);

const countAt = columnsOf(["count"]);

/** The events of tasks, on the write connection. */
export class SqliteEvents {
  readonly #firstKept: RowStatement;
  readonly #firstWait: RowStatement;
  readonly #known: RowStatement;
  readonly #count: RowStatement;
  readonly #insert: StatementSync;
  readonly #forgetValue: StatementSync;
  readonly #deleteTaken: StatementSync;

  constructor(db: DatabaseSync) {
    this.#firstKept = prepareRows(db, sql.selectFirstEvent);
    this.#firstWait = prepareRows(db, sql.selectFirstEventWait);
    this.#known = prepareRows(db, sql.selectKnownEvent);
    this.#count = prepareRows(db, sql.countEvents);
    this.#insert = db.prepare(sql.insertEvent);
    this.#forgetValue = db.prepare(sql.updateEventTaken);
    this.#deleteTaken = db.prepare(sql.deleteTakenEvent);
  }

  facts(taskId: string, { name, coming }: EventQuery): EventFacts {
    const [id, stored] = [toStored(taskId), toStored(name)];
    if (coming === undefined) {
      const row = this.#firstKept.get(id, stored);
      if (row === undefined) return {};
      return readTask(taskId, () => ({
        kept: { seq: integer(row, keptAt.seq), value: text(row, keptAt.value) },
      }));
    }
    const { dedupeId, now } = coming;
    const wait = this.#firstWait.get(id, stored, now);
    const count = this.#count.get(id);
    return {
      wait: wait === undefined ? undefined : readTask(taskId, () => journalEntryOf(wait)),
      isKnown: dedupeId !== null && this.#known.get(id, toStored(dedupeId)) !== undefined,
      count: count === undefined ? 0 : integer(count, countAt.count),
    };
  }

  keep(taskId: string, name: string, value: string | null, dedupeId: string | null): void {
    this.#insert.run(
      toStored(taskId),
      toStored(name),
      value === null ? null : toStored(value),
      dedupeId === null ? null : toStored(dedupeId),
    );
  }

  take(seq: number): void {
    this.#forgetValue.run(seq);
    this.#deleteTaken.run(seq);
  }
}
