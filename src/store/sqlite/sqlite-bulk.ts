import type { SQLInputValue } from "node:sqlite";
import type { BulkEnd, BulkJob, BulkTask } from "../../task/bulk.ts";
import type { StoredAction } from "../../task/record.ts";
import type { BulkCounts, BulkJobs } from "../admin-store.ts";
import { idOf, inClear, toStored } from "../row.ts";
import { countsIn, isOld, onTaskIn } from "../tables/statements.ts";
import { bulkJobTable, bulkTaskTable } from "../tables/tables.ts";
import * as sql from "./admin-sql.ts";
import { behindAllTexts } from "./readable-rows.ts";
import type { Statements } from "./statements.ts";

/** The reads of bulk jobs. */
export class SqliteBulk {
  readonly #sql: Statements;

  constructor(statements: Statements) {
    this.#sql = statements;
  }

  get(id: string): BulkJob | undefined {
    return this.#jobs(sql.selectBulkJob, toStored(id))[0];
  }

  underWay(limit: number): readonly BulkJob[] {
    return this.#jobs(sql.selectBulkUnderWay, limit);
  }

  list(before: string | null, limit: number): readonly BulkJob[] {
    return this.#jobs(sql.selectBulkJobs, before === null ? behindAllTexts : toStored(before), limit);
  }

  old(now: number, limit: number): readonly BulkJob[] {
    return this.#jobs(sql.selectOldestBulk, limit).filter((job) => isOld(job, now));
  }

  tasks(job: string, endedAs: BulkEnd | null, after: number, limit: number): readonly BulkTask[] {
    const rows = this.#sql.all(sql.selectBulkTasks, toStored(job), endedAs, after, limit);
    return rows.map((row) => bulkTaskTable.read("", row, inClear));
  }

  counts(job: string): BulkCounts {
    return countsIn(this.#sql.all(sql.countBulkTasks, toStored(job)));
  }

  on(taskId: string, before: number | null, limit: number): readonly (readonly [StoredAction, BulkTask])[] {
    const last = before ?? Number.MAX_SAFE_INTEGER;
    return this.#sql.all(sql.selectBulkOn, toStored(taskId), last, limit).map(onTaskIn);
  }

  #jobs(statement: string, ...values: readonly SQLInputValue[]): BulkJob[] {
    return this.#sql
      .all(statement, ...values)
      .map((row) => bulkJobTable.read(idOf(row), row, this.#sql.codec));
  }
}

/** The port of an open store. */
export function bulkOf(read: <T>(read: (bulk: SqliteBulk) => T) => Promise<T>): BulkJobs {
  return {
    get: (id) => read((bulk) => bulk.get(id)),
    underWay: (limit) => read((bulk) => bulk.underWay(limit)),
    list: (...query) => read((bulk) => bulk.list(...query)),
    old: (...query) => read((bulk) => bulk.old(...query)),
    tasks: (...query) => read((bulk) => bulk.tasks(...query)),
    counts: (job) => read((bulk) => bulk.counts(job)),
    on: (...query) => read((bulk) => bulk.on(...query)),
  };
}
