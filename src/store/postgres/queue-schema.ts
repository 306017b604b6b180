import { HoldfastError } from "../../task/fault.ts";
import type { Database, SqlValue } from "./database.ts";

/** The task of the queue's jobs. Jobs are empty: a worker that gets one looks for tasks to claim. */
export const jobTask = "claim";

/** The most jobs that are deleted in one transaction. */
const mostDeleted = 1_000;

export interface Statement {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** The tables of the queue, in a separate schema. */
export class QueueSchema {
  /** Adds a job within any transaction. */
  readonly addJob: Statement;
  readonly #name: string;
  readonly #quoted: string;
  readonly #database: Database;

  constructor(name: string, database: Database) {
    this.#name = name;
    this.#quoted = `"${name}"`;
    this.#database = database;
    // Postgres would keep a plan made while the queue was short, and read all of a long queue with it.
    const sql = `SELECT count(job) FROM set_config('plan_cache_mode', 'force_custom_plan', true) AS mode,
      LATERAL ${this.#quoted}.add_job(CASE WHEN mode IS NOT NULL THEN $1 END) AS job`;
    this.addJob = { sql, values: [jobTask] };
  }

  async assertThere(): Promise<void> {
    const table = `${this.#quoted}.migrations`;
    const [there] = await this.#database.read("SELECT 1 WHERE to_regclass($1) IS NOT NULL", [table]);
    const problem = `The queue's schema ${this.#name} is missing. Run "holdfast migrate", or set migrate to true.`;
    if (there === undefined) throw new HoldfastError("store_unusable", problem);
  }

  /** Deletes jobs that have been locked or ready for this long; resolves with their number, 0 if another process is doing it. */
  async deleteJobs(afterMs: number): Promise<number> {
    for (let deleted = 0; ;) {
      const some = await this.#deleteSome(afterMs);
      deleted += some;
      if (some < mostDeleted) return deleted;
    }
  }

  /** One process at a time: two would wait for each other's rows. */
  async #deleteSome(afterMs: number): Promise<number> {
    const transaction = await this.#database.begin();
    try {
      const lock = "SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))::int";
      const [locked] = await transaction.query(lock, [`${this.#name} cleaning`]);
      if (locked?.[0] !== 1) return 0;
      const isOld = "< clock_timestamp() - $1 * interval '1 millisecond'";
      const jobs = `${this.#quoted}.jobs`;
      const workers = `SELECT DISTINCT locked_by FROM ${jobs} WHERE locked_at ${isOld}`;
      const stale = `SELECT id FROM ${jobs} WHERE locked_at IS NULL AND run_at ${isOld} LIMIT ${mostDeleted}`;
      // Only unlocked jobs can be completed.
      await transaction.query(`SELECT ${this.#quoted}.force_unlock_workers(ARRAY(${workers}))`, [afterMs]);
      const complete = `SELECT count(*)::int FROM ${this.#quoted}.complete_jobs(ARRAY(${stale}))`;
      const [row] = await transaction.query(complete, [afterMs]);
      await transaction.commit();
      return Number(row?.[0] ?? 0);
    } finally {
      await transaction.rollback();
    }
  }
}
