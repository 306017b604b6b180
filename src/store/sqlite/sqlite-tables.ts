import type { BulkJob } from "../../task/bulk.ts";
import type { StoredDelivery } from "../../task/delivery.ts";
import type { JournalEntry } from "../../task/journal.ts";
import type { Usage } from "../../task/queue.ts";
import type { TaskRecord, TaskRequest } from "../../task/record.ts";
import { columnsOf, idOf, inClear, integer, text, toStored } from "../row.ts";
import {
  childTable,
  childOf,
  eventTable,
  journalTable,
  journalEntry,
  keptIn,
  lineTable,
  outcomeTable,
  pieceTable,
  placeOf,
  requestTable,
  storedOutcome,
} from "../tables/of-task.ts";
import { rowOf, taskTable } from "../tables/task.ts";
import { isTaskId } from "../../task/record-changes.ts";
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
import type { TableWrite, TaskTables } from "../table-write.ts";
import type { KnownRecords, SqliteUsage } from "./known-records.ts";
import { readTask, recordOf, type Statements } from "./statements.ts";
import { isKeyTaken } from "./sqlite-error.ts";
import * as sql from "./sql.ts";
import { SqliteAdminWrites } from "./sqlite-admin.ts";
import { SqliteBulk, SqliteBulkWrites } from "./sqlite-bulk.ts";
import { OwnerWrites, SqliteOwners } from "./sqlite-owners.ts";
import { SqliteOutboxTable } from "./sqlite-outbox.ts";
import { SqliteQueue } from "./sqlite-queue.ts";
import type { PieceChange } from "../../task/journal-changes.ts";
import type { TaskLine } from "../../task/task-line.ts";
import { mostPieces } from "../left-pieces.ts";
import { readableTasks } from "./readable-rows.ts";

const secretAt = columnsOf(["value"]);

/** The task itself goes last. */
export const deletes = [
  sql.deleteMessages,
  sql.deleteLines,
  sql.deletePieces,
  sql.deleteEvents,
  sql.deleteJournal,
  sql.deleteOutcome,
  sql.deleteRequest,
  sql.deleteTask,
];

/** The tables, on the write connection. The caller has begun a transaction. */
export class SqliteTables implements TaskTables {
  readonly #sql: Statements;
  readonly #records: KnownRecords;
  readonly #usage: SqliteUsage;
  readonly #queue: SqliteQueue;
  readonly #owners: SqliteOwners;
  readonly #ownerWrites: OwnerWrites;
  readonly #lives: (owner: string) => boolean;
  readonly #relatives: SqliteRelatives;
  readonly #events: SqliteEvents;
  readonly #lines: SqliteLines;
  readonly #pieces: SqlitePieces;
  readonly #admin: SqliteAdminWrites;
  readonly #outbox: SqliteOutboxTable;
  readonly #bulk: SqliteBulk;
  readonly #bulkWrites: SqliteBulkWrites;

  /** `lives` tells whether an owner lives. */
  constructor(
    statements: Statements,
    records: KnownRecords,
    usage: SqliteUsage,
    lives: (owner: string) => boolean,
  ) {
    this.#sql = statements;
    this.#usage = usage;
    this.#records = records;
    this.#queue = new SqliteQueue(statements);
    this.#owners = new SqliteOwners(statements);
    this.#ownerWrites = new OwnerWrites(statements);
    this.#lives = lives;
    this.#relatives = new SqliteRelatives(statements);
    this.#events = new SqliteEvents(statements);
    this.#lines = new SqliteLines(statements);
    this.#pieces = new SqlitePieces(statements);
    this.#admin = new SqliteAdminWrites(statements);
    this.#outbox = new SqliteOutboxTable(statements);
    this.#bulk = new SqliteBulk(statements);
    this.#bulkWrites = new SqliteBulkWrites(statements);
  }

  task(id: string): TaskRecord | undefined {
    const known = this.#records.get(id, this.#sql.codec);
    if (known !== undefined) return known;
    return readTask(id, () => {
      const row = this.#sql.get(sql.selectTask, toStored(id));
      return row === undefined ? undefined : recordOf(row, this.#sql.codec);
    });
  }

  entry(id: string, key: string): JournalEntry | undefined {
    return readTask(id, () => {
      const row = this.#sql.get(sql.selectJournalEntry, toStored(id), toStored(key));
      return row === undefined ? undefined : journalEntry.read(id, row, this.#sql.codec);
    });
  }

  children(parent: string): readonly TaskRecord[] {
    return this.#relatives.children(parent);
  }

  endedBelow(roots: readonly string[]): readonly string[] {
    return roots.flatMap((root) => this.#relatives.endedBelow(root));
  }

  event(taskId: string, query: EventQuery): EventFacts {
    return this.#events.facts(taskId, query);
  }

  taskByIdempotencyKey(principal: string | null, key: string): TaskRecord | undefined {
    const row = this.#sql.get(sql.selectTaskByIdempotencyKey, toStored(principal ?? ""), toStored(key));
    return row === undefined ? undefined : recordOf(row, this.#sql.codec);
  }

  usage(principal?: string): Usage {
    return this.#usage.of(principal);
  }

  lives(owner: string): boolean {
    return this.#lives(owner);
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
    if (this.#lives(query.owner)) return { alive: true, tasks: [], unreadable: [], next: null };
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
      case "change_pieces":
        this.#pieces.change(write.id, write.change);
        return true;
      case "remove":
        this.#records.forget(write.id);
        for (const statement of deletes) this.#sql.run(statement, toStored(write.id));
        if (write.isChild) this.#relatives.delete(write.id);
        return true;
      case "keep_event":
        this.#events.keep(write.taskId, write.name, write.taken ? null : write.value, write.dedupeId);
        return true;
      case "take_event":
        this.#events.take(write.seq);
        return true;
      case "keep_secret":
        this.#sql.run(sql.insertSecret, write.name, write.value);
        return true;
      case "replace_secret":
        if (write.value === null) this.#sql.run(sql.deleteSecret, write.name);
        else this.#sql.run(sql.updateSecret, write.value, write.name);
        return true;
      case "retire_owner":
        this.#ownerWrites.retire(write.owner, write.forgetAt);
        return true;
      case "drain_owner":
        this.#ownerWrites.drain(write.owner, write.until);
        return true;
      case "write_outbox":
        this.#outbox.write(write.write);
        return true;
      case "save_bulk_job":
      case "add_bulk_tasks":
      case "end_bulk_task":
      case "delete_bulk":
        this.#bulkWrites.write(write);
        return true;
      default:
        this.#admin.write(write);
        return true;
    }
  }

  #insert(task: TaskRecord, given: TaskRequest): boolean {
    if (this.#isWireIdTaken(task)) return false;
    try {
      this.#usage.raising(
        task.principal,
        () => void this.#sql.run(sql.insertTask, ...rowOf(task, this.#sql.codec)),
      );
    } catch (error) {
      if (isKeyTaken(error)) return false;
      throw error;
    }
    this.#records.keep(task, this.#sql.codec);
    this.#relatives.add(task);
    this.#sql.run(sql.insertRequest, ...requestTable.values(task.id, given, this.#sql.codec));
    return true;
  }

  /** An id of the server's own, which is the wire id as well, is practically never taken. */
  #isWireIdTaken({ id, wireId, generation, scope }: TaskRecord): boolean {
    if (wireId === id && isTaskId(id)) return false;
    return this.#sql.get(sql.selectIdByWireId, generation, toStored(scope), toStored(wireId)) !== undefined;
  }

  #save({
    before,
    task,
    journal: entries,
    forgets,
    outcome: ended,
  }: Extract<TableWrite, { do: "save" }>): void {
    const id = toStored(task.id);
    const { codec } = this.#sql;
    const { names, values } = taskTable.changes(task.id, before, task, codec);
    if (names.length > 0) this.#sql.run(sql.updateTask(names), ...values, id);
    this.#records.keep(task, codec);
    if (forgets === "failures") this.#sql.run(sql.deleteFailures, id);
    else if (forgets !== undefined) {
      this.#sql.run(sql.deleteRounds, id, toStored(forgets.under));
      for (const key of forgets.open) this.#sql.run(sql.deleteEntry, id, toStored(key));
    }
    for (const [index, entry] of entries.entries()) {
      const placed = { ...entry, place: placeOf(task, index) };
      this.#sql.run(sql.upsertJournal, ...journalTable.values(task.id, placed, codec));
    }
    if (ended !== null)
      this.#sql.run(sql.insertOutcome, ...outcomeTable.values(task.id, storedOutcome(ended), codec));
  }

  deletable(now: number, limit: number): readonly string[] {
    return this.#sql.all(sql.selectDeletable, now, limit).map(idOf);
  }

  deliveries(query: DeliveryQuery): readonly StoredDelivery[] {
    return this.#outbox.deliveries(query);
  }

  excessDeliveries(query: ExcessQuery): readonly number[] {
    return this.#outbox.excess(query);
  }

  bulkJob(id: string): BulkJob | undefined {
    return this.#bulk.get(id);
  }

  secret(name: string): string | undefined {
    const row = this.#sql.get(sql.selectSecret, name);
    return row === undefined ? undefined : text(row, secretAt.value);
  }
}

/** The logs and outputs of tasks, on the write connection. */
export class SqliteLines {
  readonly #sql: Statements;

  constructor(statements: Statements) {
    this.#sql = statements;
  }

  append(id: string, lines: readonly TaskLine[], forget: readonly number[]): void {
    const stored = toStored(id);
    for (const added of lines) this.#sql.run(sql.insertLine, ...lineTable.values(id, added, this.#sql.codec));
    for (const seq of forget) this.#sql.run(sql.deleteLine, stored, seq);
  }
}

/** The pieces of artifacts, on the write connection. */
export class SqlitePieces {
  readonly #sql: Statements;

  constructor(statements: Statements) {
    this.#sql = statements;
  }

  /** Of deleted tasks: as many as a commit should take. */
  deleteLeft(ids: readonly string[]): number {
    let count = 0;
    for (const id of ids) if (count < mostPieces) count += this.#sql.run(sql.deletePieces, toStored(id));
    return count;
  }

  change(taskId: string, change: PieceChange): void {
    const id = toStored(taskId);
    if (change.do === "drop_open") {
      this.#sql.run(sql.deleteOpenPieces, id);
      return;
    }
    if (change.do === "drop" || change.seq === 0) this.#sql.run(sql.deletePiecesOf, id, toStored(change.key));
    if (change.do === "write")
      this.#sql.run(sql.insertPiece, ...pieceTable.values(taskId, change, this.#sql.codec));
  }
}

/** The tasks that other tasks made, on the write connection. */
export class SqliteRelatives {
  readonly #sql: Statements;

  constructor(statements: Statements) {
    this.#sql = statements;
  }

  /** Leaves out unreadable ones: the process that runs them reports them. */
  children(parent: string): readonly TaskRecord[] {
    return readableTasks(this.#sql.all(sql.selectChildren, toStored(parent)), [], this.#sql.codec);
  }

  endedBelow(root: string): readonly string[] {
    return this.#sql.all(sql.selectEndedBelow, toStored(root)).map(idOf);
  }

  add({ id, parent }: TaskRecord): void {
    if (parent !== null)
      this.#sql.run(sql.insertChild, ...childTable.values(id, childOf(id, parent), inClear));
  }

  delete(id: string): void {
    this.#sql.run(sql.deleteChild, toStored(id));
  }
}

const countAt = columnsOf(["count"]);

/** The events of tasks, on the write connection. */
export class SqliteEvents {
  readonly #sql: Statements;

  constructor(statements: Statements) {
    this.#sql = statements;
  }

  facts(taskId: string, { name, coming }: EventQuery): EventFacts {
    const [id, stored] = [toStored(taskId), toStored(name)];
    if (coming === undefined) {
      const row = this.#sql.get(sql.selectFirstEvent, id, stored);
      if (row === undefined) return {};
      return readTask(taskId, () => ({ kept: keptIn(taskId, row, this.#sql.codec) }));
    }
    const { dedupeId, past } = coming;
    const wait = this.#sql.get(sql.selectFirstEventWait, id, stored, past);
    const count = this.#sql.get(sql.countEvents, id);
    return {
      wait:
        wait === undefined
          ? undefined
          : readTask(taskId, () => journalEntry.read(taskId, wait, this.#sql.codec)),
      isKnown: dedupeId !== null && this.#sql.get(sql.selectKnownEvent, id, toStored(dedupeId)) !== undefined,
      count: count === undefined ? 0 : integer(count, countAt.count),
    };
  }

  keep(taskId: string, name: string, value: string | null, dedupeId: string | null): void {
    this.#sql.run(sql.insertEvent, ...eventTable.values(taskId, { name, value, dedupeId }, this.#sql.codec));
  }

  take(seq: number): void {
    this.#sql.run(sql.updateEventTaken, seq);
    this.#sql.run(sql.deleteTakenEvent, seq);
  }
}
