import type { JournalEntry } from "../../task/journal.ts";
import type { Usage } from "../../task/queue.ts";
import type { TaskRecord } from "../../task/record.ts";
import { columnsOf, idOf, integer, text, toStored } from "../row.ts";
import { journalEntry, keptIn } from "../tables/of-task.ts";
import { rowOf, taskTable } from "../tables/task.ts";
import { changeRows } from "../tables/writes.ts";
import { isTaskId } from "../../task/record-changes.ts";
import type { EventFacts, EventQuery, FactsQuery, OtherFacts } from "../facts.ts";
import type { TableWrite, TaskTables } from "../table-write.ts";
import type { KnownRecords, SqliteUsage } from "./known-records.ts";
import { readTask, recordOf, type Statements } from "./statements.ts";
import { isKeyTaken } from "./sqlite-error.ts";
import * as sql from "./sql.ts";
import { bulkStatements, outboxStatements } from "./admin-sql.ts";
import { bulkJobIn } from "../admin-reads.ts";
import { dueDeliveries } from "../outbox-reads.ts";
import { deliveriesIn } from "../tables/tables.ts";
import { OwnerWrites, SqliteOwners } from "./sqlite-owners.ts";
import { SqliteQueue } from "./sqlite-queue.ts";
import { readableTasks } from "./readable-rows.ts";

const secretAt = columnsOf(["value"]);
const countAt = columnsOf(["count"]);

/** The tables, on the write connection. The caller has begun a transaction. */
export class SqliteTables implements TaskTables {
  readonly #sql: Statements;
  readonly #records: KnownRecords;
  readonly #usage: SqliteUsage;
  readonly #queue: SqliteQueue;
  readonly #owners: SqliteOwners;
  readonly #ownerWrites: OwnerWrites;
  readonly #lives: (owner: string) => boolean;

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
  }

  task(id: string): TaskRecord | undefined {
    const known = this.#records.get(id, this.#sql.codec);
    if (known !== undefined) return known;
    return readTask(id, () => {
      const row = this.#sql.get(sql.taskStatements.task, toStored(id));
      return row === undefined ? undefined : recordOf(row, this.#sql.codec);
    });
  }

  entry(id: string, key: string): JournalEntry | undefined {
    return readTask(id, () => {
      const row = this.#sql.get(sql.taskStatements.journalEntry, toStored(id), toStored(key));
      return row === undefined ? undefined : journalEntry.read(id, row, this.#sql.codec);
    });
  }

  /** Leaves out unreadable ones: the process that runs them reports them. */
  children(parent: string): readonly TaskRecord[] {
    return readableTasks(this.#sql.all(sql.selectChildren, toStored(parent)), [], this.#sql.codec);
  }

  endedBelow(roots: readonly string[]): readonly string[] {
    return roots.flatMap((root) => this.#sql.all(sql.selectEndedBelow, toStored(root)).map(idOf));
  }

  event(taskId: string, { name, coming }: EventQuery): EventFacts {
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

  others(query: FactsQuery, own: string): OtherFacts {
    const { runnable, toWake, running, deletable, secret, bulkJob, deliveries, excess } = query;
    if (runnable) return { runnable: this.#queue.runnable(runnable, this.#owners.mayTake(own)) };
    if (toWake) return { toWake: this.#queue.toWake(toWake.now, toWake.limit) };
    if (running) {
      const alive = { alive: true, tasks: [], unreadable: [], next: null };
      return { running: this.#lives(running.owner) ? alive : this.#queue.running(running) };
    }
    if (deletable) {
      const ids = this.#sql.all(sql.selectDeletable, deletable.now, deletable.limit).map(idOf);
      return { deletable: ids, below: this.endedBelow(ids) };
    }
    if (secret !== undefined) {
      const row = this.#sql.get(sql.selectSecret, secret);
      return { secret: row && text(row, secretAt.value) };
    }
    if (bulkJob !== undefined) {
      const row = this.#sql.get(bulkStatements.job, toStored(bulkJob));
      return { bulkJob: row && bulkJobIn(row, this.#sql.codec) };
    }
    if (deliveries) {
      const due = dueDeliveries(outboxStatements, deliveries);
      return { deliveries: deliveriesIn(this.#sql.all(due.sql, ...due.values)) };
    }
    if (!excess) return {};
    const rows = this.#sql.all(outboxStatements.excess, excess.before, excess.most, excess.limit);
    return { excess: rows.map(([seq]) => Number(seq)) };
  }

  write(write: TableWrite): boolean {
    const { codec } = this.#sql;
    if (write.do === "insert" && !this.#insert(write.task)) return false;
    if (write.do === "save") this.#save(write.before, write.task);
    if (write.do === "remove") this.#records.forget(write.id);
    if (write.do === "retire_owner") this.#ownerWrites.retire(write.owner, write.forgetAt);
    if (write.do === "drain_owner") this.#ownerWrites.drain(write.owner, write.until);
    changeRows(write, codec, (name, values) => void this.#sql.run(sql.rows[name], ...values));
    return true;
  }

  #save(before: TaskRecord, task: TaskRecord): void {
    const { codec } = this.#sql;
    const { names, values } = taskTable.changes(task.id, before, task, codec);
    if (names.length > 0) this.#sql.run(sql.updateTask(names), ...values, toStored(task.id));
    this.#records.keep(task, codec);
  }

  #insert(task: TaskRecord): boolean {
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
    return true;
  }

  /** An id of the server's own, which is the wire id as well, is practically never taken. */
  #isWireIdTaken({ id, wireId, generation, scope }: TaskRecord): boolean {
    if (wireId === id && isTaskId(id)) return false;
    return (
      this.#sql.get(sql.taskStatements.idByWireId, generation, toStored(scope), toStored(wireId)) !==
      undefined
    );
  }
}
