import type { BulkEnd, BulkJob, BulkTask } from "../../task/bulk.ts";
import type { StoredAction } from "../../task/record.ts";
import type { BulkCounts, BulkJobs } from "../admin-store.ts";
import { type Codec, idOf, inClear, type Row, toStored } from "../row.ts";
import { countsIn, isOld, onTaskIn } from "../tables/statements.ts";
import { actionTable, bulkJobTable, bulkTaskTable, isUnderWay } from "../tables/tables.ts";
import type { Database, SqlValue } from "./database.ts";
import type { Names } from "./names.ts";
import { behindAllTexts } from "./read-task.ts";

/** The statements about bulk jobs. */
export function bulkStatements({ bulkJob, bulkTask, action }: Names) {
  const job = bulkJobTable.list();
  const task = bulkTaskTable.list();
  const tasks = (ended: string): string => `SELECT ${task} FROM ${bulkTask}
    WHERE job = $1 AND ended_as ${ended} AND place > $2 ORDER BY place LIMIT $3`;
  return {
    job: `SELECT ${job} FROM ${bulkJob} WHERE id = $1`,
    lockJob: `SELECT ${job} FROM ${bulkJob} WHERE id = $1 FOR UPDATE`,
    underWay: `SELECT ${job} FROM ${bulkJob} WHERE ${isUnderWay} ORDER BY id LIMIT $1`,
    list: `SELECT ${job} FROM ${bulkJob} WHERE id < $1 ORDER BY id DESC LIMIT $2`,
    oldest: `SELECT ${job} FROM ${bulkJob} ORDER BY id LIMIT $1`,
    open: tasks("IS NULL"),
    ended: tasks("= $4"),
    counts: `SELECT ended_as, count(*)::int FROM ${bulkTask} WHERE job = $1 GROUP BY ended_as`,
    on: `SELECT ${actionTable.list("action")}, ${bulkTaskTable.list("bulk_task")}
      FROM ${bulkTask} JOIN ${action} ON action.job IS NOT NULL AND action.job = bulk_task.job
      WHERE bulk_task.task_id = $1 AND bulk_task.ended_as IS NOT NULL AND action.seq < $2
      ORDER BY bulk_task.job DESC LIMIT $3`,
  };
}

export type BulkStatements = ReturnType<typeof bulkStatements>;

export function bulkJobIn(row: Row, codec: Codec): BulkJob {
  return bulkJobTable.read(idOf(row), row, codec);
}

/** The reads of bulk jobs. */
export class PostgresBulk implements BulkJobs {
  readonly #sql: BulkStatements;
  readonly #open: () => { readonly database: Pick<Database, "read" | "codecs"> };

  constructor(names: Names, open: () => { readonly database: Pick<Database, "read" | "codecs"> }) {
    this.#sql = bulkStatements(names);
    this.#open = open;
  }

  async get(id: string): Promise<BulkJob | undefined> {
    return (await this.#jobs(this.#sql.job, [toStored(id)]))[0];
  }

  underWay(limit: number): Promise<readonly BulkJob[]> {
    return this.#jobs(this.#sql.underWay, [limit]);
  }

  list(before: string | null, limit: number): Promise<readonly BulkJob[]> {
    return this.#jobs(this.#sql.list, [before === null ? behindAllTexts : toStored(before), limit]);
  }

  async old(now: number, limit: number): Promise<readonly BulkJob[]> {
    return (await this.#jobs(this.#sql.oldest, [limit])).filter((job) => isOld(job, now));
  }

  async tasks(
    job: string,
    endedAs: BulkEnd | null,
    after: number,
    limit: number,
  ): Promise<readonly BulkTask[]> {
    const of = [toStored(job), after, limit];
    const { database } = this.#open();
    const rows = await (endedAs === null
      ? database.read(this.#sql.open, of)
      : database.read(this.#sql.ended, [...of, endedAs]));
    return rows.map((row) => bulkTaskTable.read("", row, inClear));
  }

  async counts(job: string): Promise<BulkCounts> {
    return countsIn(await this.#open().database.read(this.#sql.counts, [toStored(job)]));
  }

  async on(
    taskId: string,
    before: number | null,
    limit: number,
  ): Promise<readonly (readonly [StoredAction, BulkTask])[]> {
    const last = before ?? Number.MAX_SAFE_INTEGER;
    return (await this.#open().database.read(this.#sql.on, [toStored(taskId), last, limit])).map(onTaskIn);
  }

  async #jobs(statement: string, values: readonly SqlValue[]): Promise<readonly BulkJob[]> {
    const { database } = this.#open();
    const rows = await database.read(statement, values);
    return rows.map((row) => bulkJobIn(row, database.codecs.reading));
  }
}
